"""For each alert: series with which it fires, and series near them with which it does not.

Values are promtool's notation: `0+3x240` grows by 3 each minute for 240 minutes, `_` is a missing sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from monitoring.alerts import ALERTS, rules

#: What the chart writes into the rules.
NAMESPACE: Final = "hai"
_HERE: Final = f'namespace="{NAMESPACE}"'

Series = dict[str, str]


@dataclass(frozen=True)
class Case:
    """An alert, and what it is tried with."""

    alert: str
    fires: Series
    not_fires: Series
    #: When the alert is looked at, minutes from the beginning.
    minute: int = 60
    #: The labels with which it fires, beside its severity.
    labels: tuple[tuple[str, str], ...] = ()


def _series(metric: str, values: str, **labels: str) -> Series:
    inside = ", ".join([_HERE, *(f'{name}="{value}"' for name, value in labels.items())])
    return {f"{metric}{{{inside}}}": values}


def _slow(metric: str, bounds: tuple[str, str], quick: bool, **labels: str) -> Series:
    """A histogram in which 10 values a minute lie below the first bound, or between both."""
    below, growth = bounds[0], "0+10x480"
    return (
        _series(f"{metric}_bucket", growth if quick else "0+0x480", le=below, **labels)
        | _series(f"{metric}_bucket", growth, le=bounds[1], **labels)
        | _series(f"{metric}_bucket", growth, le="+Inf", **labels)
    )


def _node_time(useful: str, lost: str) -> Series:
    return (
        _series("hai_node_seconds_total", useful, group="training", state="useful")
        | _series("hai_node_seconds_total", lost, group="training", state="lost")
        | _series("hai_node_seconds_total", "0+600x480", group="training", state="idle")
    )


def _share(metric: str, bad: str, good: str, bad_labels: dict[str, str], good_labels: dict[str, str]) -> Series:
    return _series(metric, bad, **bad_labels) | _series(metric, good, **good_labels)


_TICKS: Final = _series("hai_ticks", "0+60x480")
_SAVED: Final = {"profile": "auto", "outcome": "saved"}
_CUT: Final = {"profile": "auto", "outcome": "ended"}
_OK: Final = {"process": "loop", "verb": "get", "code": "200"}
_BUSY: Final = {"process": "loop", "verb": "get", "code": "503"}
_LOST: Final = {"group": "training", "reason": "node_lost", "clean": "false"}

CASES: Final = (
    Case(
        "HaiSchedulerSilent",
        # The time in these tests begins at 0: the last tick was in the first second.
        _TICKS | _series("hai_last_tick_timestamp_seconds", "1x480"),
        _TICKS | _series("hai_last_tick_timestamp_seconds", "0+60x480"),
    ),
    Case(
        "HaiStartsStuck",
        _series("hai_tasks", "2x480", state="starting", priority="HIGH")
        | _series("hai_start_seconds_count", "7x480", group="training"),
        _series("hai_tasks", "2x480", state="starting", priority="HIGH")
        | _series("hai_start_seconds_count", "0+1x480", group="training"),
    ),
    Case(
        "HaiWaitsLong",
        _slow("hai_task_wait_seconds", ("3600", "7200"), quick=False, group="training", priority="HIGH"),
        _slow("hai_task_wait_seconds", ("3600", "7200"), quick=True, group="training", priority="HIGH")
        # Others may wait.
        | _slow("hai_task_wait_seconds", ("3600", "7200"), quick=False, group="training", priority="LOW"),
        labels=(("group", "training"),),
    ),
    Case("HaiNodeTimeLost", _node_time("0+50x480", "0+10x480"), _node_time("0+50x480", "0+5x480"), minute=90),
    Case(
        "HaiRunsBreak",
        _series("hai_runs_ended_total", "0+1x480", **_LOST),
        _series("hai_runs_ended_total", "0x60 1x400", **_LOST)
        | _series("hai_runs_ended_total", "0+9x480", group="training", reason="failed", clean="true"),
        minute=120,
    ),
    Case(
        "HaiNoticesCut",
        _share("hai_notice_seconds_count", "0+3x480", "0+1x480", _CUT, _SAVED),
        _share("hai_notice_seconds_count", "0+1x480", "0+3x480", _CUT, _SAVED),
        minute=120,
    ),
    Case(
        "HaiEffectsFail",
        _series("hai_trouble", "1x480", what="cluster") | _series("hai_trouble", "0x480", what="policy"),
        _series("hai_trouble", "0x480", what="cluster") | _series("hai_trouble", "0x55 1x3 0x480", what="policy"),
        labels=(("what", "cluster"),),
    ),
    Case(
        "HaiLeaseFlaps",
        _series("hai_ticks", "50 1 50 1 50 1 50 1 50 1 50 1x400"),
        _series("hai_ticks", "50 1 50 1x400"),
        minute=25,
    ),
    Case(
        "HaiDatabaseSlow",
        _slow("hai_db_seconds", ("0.5", "1.0"), quick=False, process="loop", op="commit"),
        _slow("hai_db_seconds", ("0.5", "1.0"), quick=True, process="loop", op="commit")
        | _slow("hai_db_seconds", ("0.5", "1.0"), quick=False, process="loop", op="turn"),
    ),
    Case(
        "HaiClusterErrors",
        _share("hai_cluster_request_seconds_count", "0+2x480", "0+8x480", _BUSY, _OK),
        _share("hai_cluster_request_seconds_count", "0+1x480", "0+20x480", _BUSY, _OK),
    ),
    Case(
        "HaiApiSlow",
        _slow("hai_http_request_seconds", ("2.5", "5.0"), quick=False, kind="read"),
        _slow("hai_http_request_seconds", ("1.0", "5.0"), quick=True, kind="read")
        | _slow("hai_http_request_seconds", ("2.5", "5.0"), quick=False, kind="expensive"),
    ),
    Case(
        "HaiIncidents",
        _series("hai_http_incidents_total", "0x50 1x400"),
        _series("hai_http_incidents_total", "3x480"),
    ),
    Case(
        "HaiNodesLost",
        _series("hai_nodes", "2x480", group="training", state="lost"),
        _series("hai_nodes", "0x55 2x3 0x480", group="training", state="lost")
        | _series("hai_nodes", "2x480", group="training", state="free"),
        labels=(("group", "training"),),
    ),
    Case(
        "HaiNodesQuarantined",
        _series("hai_quarantined_nodes", "1x480", group="training"),
        _series("hai_quarantined_nodes", "0x480", group="training"),
        labels=(("group", "training"),),
    ),
    Case(
        "HaiTurnsTooShort",
        _series("hai_rotation_alarms_total", "0x40 2x400"),
        _series("hai_rotation_alarms_total", "2x480"),
    ),
)


def rules_here() -> dict[str, Any]:
    """The rules as the chart writes them for a release in `NAMESPACE`."""
    found = rules()
    for rule in found["groups"][0]["rules"]:
        rule["expr"] = rule["expr"].replace("$namespace", NAMESPACE)
    return found


def promtool_tests(rule_file: str, cases: tuple[Case, ...] = CASES) -> dict[str, Any]:
    """The cases as a file of `promtool test rules`; of what fires only names and labels are compared there."""
    alerts = {alert.name: alert for alert in ALERTS}
    found = []
    for case in cases:
        labels = {"severity": alerts[case.alert].severity, **dict(case.labels)}
        for series, fires in ((case.fires, True), (case.not_fires, False)):
            found.append(
                {
                    "interval": "1m",
                    "name": f"{case.alert} {'fires' if fires else 'does not fire'}",
                    "input_series": [{"series": name, "values": values} for name, values in series.items()],
                    "promql_expr_test": [
                        {
                            "expr": f'count by (alertstate) (ALERTS{{alertname="{case.alert}", alertstate="firing", '
                            + ", ".join(f'{name}="{value}"' for name, value in labels.items())
                            + "})",
                            "eval_time": f"{case.minute}m",
                            "exp_samples": [{"labels": '{alertstate="firing"}', "value": 1}] if fires else [],
                        }
                    ],
                }
            )
    return {"rule_files": [rule_file], "evaluation_interval": "5m", "tests": found}
