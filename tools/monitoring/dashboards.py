"""The table of all dashboards: title, unit, kind and expressions of each panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from monitoring.queries import growth, increase, own, platform, quantile, share, summed

Unit = Literal["percentunit", "s", "short", "reqps", "dateTimeFromNow", "bool"]
Kind = Literal["stat", "lines", "stack"]


@dataclass(frozen=True)
class Line:
    """An expression, and the name of its lines: a text, or Grafana's `{{label}}`."""

    expr: str
    name: str = ""


@dataclass(frozen=True)
class Panel:
    """One panel. `about` says what it means and when to worry."""

    title: str
    unit: Unit
    kind: Kind
    about: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Dashboard:
    """One dashboard: rows of panels, by the row's title."""

    uid: str
    title: str
    about: str
    rows: dict[str, tuple[Panel, ...]]


_ALL: Final = "useful|overhead|lost|idle|down"
_HELD: Final = "useful|overhead|lost"

OPERATIONS: Final = Dashboard(
    "hai-operations",
    "HAI / Operations",
    "Whether the scheduler decides, and how fast everything answers.",
    {
        "The loop": (
            Panel("Leading", "bool", "stat", "1: a loop ticks.", (Line(platform("hai_leading")),)),
            Panel(
                "Since the last tick",
                "s",
                "stat",
                "More than 10 s: nothing is decided.",
                (Line(f"time() - {platform('hai_last_tick_timestamp_seconds')}"),),
            ),
            Panel(
                "Troubles",
                "short",
                "lines",
                "1 while the loop has this problem: its log says which.",
                (Line(platform("hai_trouble", "what"), "{{what}}"),),
            ),
            Panel(
                "Ticks",
                "s",
                "lines",
                "Should stay far below a second.",
                (
                    Line(quantile(0.5, "hai_tick_seconds"), "tick, half"),
                    Line(quantile(0.99, "hai_tick_seconds"), "tick, 99 %"),
                    Line(quantile(0.99, "hai_plan_seconds"), "plan, 99 %"),
                ),
            ),
        ),
        "What it depends on": (
            Panel(
                "Database, 99 %",
                "s",
                "lines",
                "commit is the disk of the database; turn is waiting for other writers.",
                (Line(quantile(0.99, "hai_db_seconds", "process, op"), "{{process}} {{op}}"),),
            ),
            Panel(
                "Cluster, 99 %",
                "s",
                "lines",
                "Requests to Kubernetes, or work on the folders of runs.",
                (Line(quantile(0.99, "hai_cluster_request_seconds", "process, verb"), "{{process}} {{verb}}"),),
            ),
            Panel(
                "Cluster, answers",
                "reqps",
                "lines",
                "none: no answer came; busy, 429 and 5xx are tried again.",
                (Line(growth("hai_cluster_request_seconds_count", "process, verb, code"), "{{verb}} {{code}}"),),
            ),
        ),
        "Requests": (
            Panel(
                "Requests",
                "reqps",
                "stack",
                "5xx are faults of the platform.",
                (Line(own("hai_http_requests_total", "status"), "{{status}}"),),
            ),
            Panel(
                "Time to answer, 99 %",
                "s",
                "lines",
                "By kind; streams are left out.",
                (Line(quantile(0.99, "hai_http_request_seconds", "kind"), "{{kind}}"),),
            ),
            Panel(
                "Refused",
                "reqps",
                "lines",
                "rate: a client is too fast; total: the process is too slow for its users.",
                (Line(f"{own('hai_requests_refused_total', 'kind, reason')} or vector(0)", "{{kind}} {{reason}}"),),
            ),
            Panel(
                "In work and waiting",
                "short",
                "lines",
                "Requests now, and open streams.",
                (
                    Line(summed("hai_requests_working", "kind"), "working: {{kind}}"),
                    Line(summed("hai_requests_waiting", "kind"), "waiting: {{kind}}"),
                    Line(summed("hai_http_streams"), "streams"),
                ),
            ),
            Panel(
                "Incidents",
                "reqps",
                "lines",
                "Requests that failed by a fault of the platform: the log has their numbers.",
                (Line(own("hai_http_incidents_total"), "incidents"),),
            ),
        ),
    },
)

CAPACITY: Final = Dashboard(
    "hai-capacity",
    "HAI / Capacity and waiting",
    "How well the cluster is used, and how long people wait for it.",
    {
        "Use": (
            Panel(
                "Occupancy, a day",
                "percentunit",
                "stat",
                "Part of the node time in which nodes were held. HAI aims at 95 %.",
                (Line(share(_HELD, _ALL, "1d")),),
            ),
            Panel(
                "Useful, a day",
                "percentunit",
                "stat",
                "Part of the held time that was neither overhead nor lost.",
                (Line(share("useful", _HELD, "1d")),),
            ),
            Panel(
                "Node time",
                "short",
                "stack",
                "Nodes by what they do.",
                (Line(f"sum by (state) ({growth('hai_node_seconds_total', 'group, state')})", "{{state}}"),),
            ),
            Panel(
                "Nodes that tasks hold and want",
                "short",
                "lines",
                "By state of the tasks.",
                (Line(f"sum by (state) ({platform('hai_task_nodes', 'state, priority')})", "{{state}}"),),
            ),
        ),
        "Waiting": (
            Panel(
                "Tasks that wait",
                "short",
                "stack",
                "By priority; held ones are among them.",
                (
                    Line(
                        f"sum by (priority) ({platform('hai_tasks', 'state, priority', state='queued|suspended')})",
                        "{{priority}}",
                    ),
                ),
            ),
            Panel(
                "Tasks that run",
                "short",
                "stack",
                "By priority.",
                (Line(platform("hai_tasks", "priority", state="running"), "{{priority}}"),),
            ),
            Panel(
                "Wait for a turn, half of them",
                "s",
                "lines",
                "Over the last hour.",
                (Line(quantile(0.5, "hai_task_wait_seconds", "priority", over="1h"), "{{priority}}"),),
            ),
            Panel(
                "Wait for a turn, 90 %",
                "s",
                "lines",
                "Over the last hour.",
                (Line(quantile(0.9, "hai_task_wait_seconds", "priority", over="1h"), "{{priority}}"),),
            ),
            Panel(
                "Longest wait now",
                "s",
                "lines",
                "Of tasks that nobody holds back.",
                (Line(platform("hai_oldest_wait_seconds", "group, priority"), "{{group}} {{priority}}"),),
            ),
        ),
        "Turns": (
            Panel(
                "Turns that begin, an hour",
                "short",
                "lines",
                "By node group.",
                (
                    Line(
                        f"3600 * sum by (group) ({growth('hai_task_wait_seconds_count', 'group, priority')})",
                        "{{group}}",
                    ),
                ),
            ),
            Panel(
                "Runs that ended, an hour",
                "short",
                "stack",
                "By reason.",
                (
                    Line(
                        f"3600 * sum by (reason) ({growth('hai_runs_ended_total', 'group, reason, clean')})",
                        "{{reason}}",
                    ),
                ),
            ),
            Panel(
                "Turns too short",
                "short",
                "stat",
                "Tasks that had to leave for equals as often as they may, in a day.",
                (Line(f"max({increase('hai_rotation_alarms_total', '1d')})"),),
            ),
        ),
        "Users": (
            Panel(
                "Nodes by user",
                "short",
                "stack",
                "Only with MetricsLabels.by_user.",
                (Line(f"topk(20, {platform('hai_user_task_nodes', 'user, state')})", "{{user}} {{state}}"),),
            ),
        ),
    },
)

NODES: Final = Dashboard(
    "hai-nodes",
    "HAI / Nodes",
    "Which nodes work, and what interruptions cost.",
    {
        "Nodes": (
            Panel(
                "Nodes",
                "short",
                "stack",
                "By state.",
                (Line(f"sum by (state) ({platform('hai_nodes', 'group, state')})", "{{state}}"),),
            ),
            Panel(
                "In quarantine",
                "short",
                "lines",
                "Runs kept failing there.",
                (Line(platform("hai_quarantined_nodes", "group"), "{{group}}"),),
            ),
            Panel(
                "Down, a day",
                "percentunit",
                "lines",
                "Part of the node time of each group.",
                (
                    Line(
                        f"sum by (group) ({growth('hai_node_seconds_total', 'group, state', '1d', state='down')}) / "
                        f"sum by (group) ({growth('hai_node_seconds_total', 'group, state', '1d')})",
                        "{{group}}",
                    ),
                ),
            ),
        ),
        "Starts": (
            Panel(
                "Start, half of them",
                "s",
                "lines",
                "From the decision until every rank is up.",
                (Line(quantile(0.5, "hai_start_seconds", "group", over="1h"), "{{group}}"),),
            ),
            Panel(
                "Start, 90 %",
                "s",
                "lines",
                "Images that must be pulled first show here.",
                (Line(quantile(0.9, "hai_start_seconds", "group", over="1h"), "{{group}}"),),
            ),
        ),
        "Interruptions": (
            Panel(
                "From notice to gone, 90 %",
                "s",
                "lines",
                "By how the job is told.",
                (Line(quantile(0.9, "hai_notice_seconds", "profile", over="1h"), "{{profile}}"),),
            ),
            Panel(
                "How runs leave, an hour",
                "short",
                "stack",
                "ended: cut off at the deadline; saved: they had saved.",
                (
                    Line(
                        f"3600 * sum by (outcome) ({growth('hai_notice_seconds_count', 'profile, outcome')})",
                        "{{outcome}}",
                    ),
                ),
            ),
            Panel(
                "Overhead and lost, a day",
                "percentunit",
                "lines",
                "Part of the held node time.",
                (Line(share("overhead", _HELD, "1d"), "overhead"), Line(share("lost", _HELD, "1d"), "lost")),
            ),
        ),
    },
)

DASHBOARDS: Final = (OPERATIONS, CAPACITY, NODES)
