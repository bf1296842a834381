"""The table of all alerts. Each has a page of its name in docs/runbooks, and cases in tests/kit/alert_cases.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from monitoring.queries import HERE, growth, increase, platform, quantile, share

#: What the chart writes before the name of a page.
RUNBOOKS: Final = "$runbooks"

_REQUESTS: Final = "hai_cluster_request_seconds_count"


@dataclass(frozen=True)
class Alert:
    """One alert."""

    name: str
    severity: Literal["critical", "warning", "info"]
    #: How long `expr` must hold.
    lasts: str
    expr: str
    summary: str
    #: What it means; Prometheus fills in `{{ $value }}`.
    description: str


ALERTS: Final = (
    Alert(
        "HaiSchedulerSilent", "critical", "2m",
        f"time() - {platform('hai_last_tick_timestamp_seconds')} > 60 or absent(hai_ticks{{{HERE}}})",
        "The scheduler decides nothing",
        "No tick has succeeded for a minute, or the scheduler cannot be asked. Running tasks go on; no task "
        "starts, and none is told to leave.",
    ),
    Alert(
        "HaiStartsStuck", "critical", "5m",
        f"{platform('hai_tasks', state='starting')} > 0 and "
        f"(max({increase('hai_start_seconds_count', '15m')}) or vector(0)) == 0",
        "Tasks are started and do not come up",
        "Tasks have been starting for some time, and no start was completed within 15 minutes.",
    ),
    Alert(
        "HaiWaitsLong", "warning", "15m",
        f"{quantile(0.9, 'hai_task_wait_seconds', 'group', '6h', priority='HIGH|VERY_HIGH|EXTREME_HIGH')} > 3600",
        "Urgent tasks wait for more than an hour",
        "Of the turns of priority HIGH and above that began in node group {{ $labels.group }} within 6 hours, "
        "more than a tenth had waited for over an hour.",
    ),
    Alert(
        "HaiNodeTimeLost", "warning", "30m",
        f"{share('lost', 'useful|overhead|lost', '6h')} > 0.1",
        "A tenth of the computed time is lost",
        "{{ $value | humanizePercentage }} of the held node time of the last 6 hours was lost: it lay behind "
        "the last checkpoint of an interrupted run.",
    ),
    Alert(
        "HaiRunsBreak", "warning", "15m",
        "sum(max by (group, reason, clean) "
        f"({increase('hai_runs_ended_total', '1h', reason='node_lost|start_failed|supervisor_killed')})) > 5",
        "Runs break",
        "{{ $value | humanize }} runs of the last hour ended because a node, a supervisor or a start failed.",
    ),
    Alert(
        "HaiNoticesCut", "info", "30m",
        f"sum({growth('hai_notice_seconds_count', 'profile, outcome', '6h', outcome='ended')}) / "
        f"sum({growth('hai_notice_seconds_count', 'profile, outcome', '6h')}) > 0.5",
        "Most runs are cut off at the end of their notice",
        "{{ $value | humanizePercentage }} of the runs that were told to leave within 6 hours did not leave in time.",
    ),
    Alert(
        "HaiEffectsFail", "warning", "10m",
        f"{platform('hai_trouble', 'what')} > 0",
        "The scheduling loop has a problem",
        "The loop has had a problem of kind {{ $labels.what }} for 10 minutes: cluster, it cannot see the "
        "nodes; effects, decisions cannot be carried out; policy, policy numbers are not used.",
    ),
    Alert(
        "HaiLeaseFlaps", "warning", "0m",
        f"max(resets(hai_ticks{{{HERE}}}[30m])) > 3",
        "The leading loop changes again and again",
        "The loop that leads was replaced or restarted {{ $value }} times within 30 minutes.",
    ),
    Alert(
        "HaiDatabaseSlow", "warning", "15m",
        f"{quantile(0.99, 'hai_db_seconds', over='10m', op='commit')} > 0.5",
        "The database is slow to commit",
        "One commit of a hundred takes more than {{ $value | humanizeDuration }}; each tick waits for one.",
    ),
    Alert(
        "HaiClusterErrors", "warning", "15m",
        f"sum({growth(_REQUESTS, 'process, verb, code', '10m', code='none|busy|error|5..')}) / "
        f"sum({growth(_REQUESTS, 'process, verb, code', '10m')}) > 0.1",
        "Requests to the cluster fail",
        "{{ $value | humanizePercentage }} of the requests to the cluster fail or are not answered.",
    ),
    Alert(
        "HaiApiSlow", "warning", "15m",
        f"{quantile(0.99, 'hai_http_request_seconds', over='10m', kind='read|write')} > 2",
        "Requests are answered slowly",
        "One request of a hundred takes more than {{ $value | humanizeDuration }}.",
    ),
    Alert(
        "HaiIncidents", "warning", "0m",
        f"sum({increase('hai_http_incidents_total', '15m')}) > 0",
        "Requests to the scheduler fail by a fault of the platform",
        "The scheduler's log holds the reason, by the incident's number.",
    ),
    Alert(
        "HaiNodesLost", "warning", "10m",
        f"{platform('hai_nodes', 'group', state='lost')} > 0",
        "Nodes do not answer",
        "{{ $value }} nodes of group {{ $labels.group }} do not answer; their tasks go on elsewhere.",
    ),
    Alert(
        "HaiNodesQuarantined", "warning", "15m",
        f"{platform('hai_quarantined_nodes', 'group')} > 0",
        "Nodes are in quarantine, because runs kept failing there",
        "{{ $value }} nodes of group {{ $labels.group }} get no new runs until an admin has looked at them.",
    ),
    Alert(
        "HaiTurnsTooShort", "info", "0m",
        f"max({increase('hai_rotation_alarms_total', '1h')}) > 0",
        "Tasks are told to leave for equals very often",
        "There are too many tasks for turns of this length.",
    ),
)  # fmt: skip


def rules() -> dict[str, Any]:
    """The alerts as the rules of Prometheus: `groups` of a PrometheusRule, and of a file that promtool reads."""
    return {"groups": [{"name": "hai", "rules": [_rule(alert) for alert in ALERTS]}]}


def _rule(alert: Alert) -> dict[str, Any]:
    lasts = {} if alert.lasts == "0m" else {"for": alert.lasts}
    return {
        "alert": alert.name,
        "expr": alert.expr,
        **lasts,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": f"{RUNBOOKS}/{alert.name}.md",
        },
    }
