"""How many series there are does not grow with tasks and runs, and stays small on a large platform."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hai_scheduler.api.routes import ROUTES
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.metrics import Metrics
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.tallies.families import CLUSTER, DATABASE, NODE_SECONDS, NOTICE, RUNS_ENDED, START, WAIT
from hai_scheduler.core.tallies.tallies import Tallies
from hai_scheduler.service.insight.census import Count, TaskKind
from hai_scheduler.service.insight.queries import NodeView
from hai_scheduler.service.insight.waits import OverallDemand
from hai_scheduler.service.tallies.kept import KeptTallies, kept_of
from kit.builders import a_node

GROUPS = ("a100", "h100", "h200", "debug")
MOST = 2000
#: Codes of the answers of an API server, by verb.
CODES = {
    "get": ("200", "404", "429", "none"),
    "post": ("201", "409"),
    "patch": ("200", "409"),
    "delete": ("200", "404"),
}


def everything_has_happened() -> tuple[Tallies, Tallies]:
    """Every wait, start, notice, end and request that there may be, of the loop and of a process of the API."""
    loop, api = Tallies(), Tallies()
    for group in GROUPS:
        loop.observe(START, (group,), 3)
        for level in Priority:
            loop.observe(WAIT, (group, level.name), 300)
        for reason in Reason:
            for clean in {"true" if not reason.unplanned else "false", "false"}:
                loop.add(RUNS_ENDED, (group, reason.value, clean), 1)
        for state in ("useful", "overhead", "lost", "idle", "down"):
            loop.add(NODE_SECONDS, (group, state), 1)
    _observe_times(loop, api)
    return loop, api


def _observe_times(loop: Tallies, api: Tallies) -> None:
    for profile in Profile:
        for outcome in ("saved", "unknown", "ended", "finished", "failed"):
            loop.observe(NOTICE, (profile.value, outcome), 3)
    for process, tallies in (("loop", loop), ("api", api)):
        for op in ("select", "insert", "update", "delete", "commit", "turn", "other"):
            tallies.observe(DATABASE, (process, op), 0.01)
        for verb, codes in CODES.items():
            for code in codes if process == "loop" or verb == "get" else ():
                tallies.observe(CLUSTER, (process, verb, code), 0.01)


async def series_of(tasks: int, nodes: int) -> tuple[int, KeptTallies]:
    loop, api = everything_has_happened()
    kept = KeptTallies(tallies=loop, groups=GROUPS)

    async def look() -> None:
        """There is nothing newer."""

    news: Any = SimpleNamespace(status=None, silence=lambda: None, look=look)
    reader: Any = SimpleNamespace(kept=kept, look=look)
    metrics = Metrics(news, reader, own=api)
    limits: Any = {kind: SimpleNamespace(working=1, waiting=1) for kind in Kind}
    metrics.show_limits(limits)
    for route in ROUTES:
        for status in (200, 404):
            metrics.request(route.method, route.path, route.budget, status, 0.01)
    for kind in Kind:
        for reason in ("rate", "at_once", "total"):
            metrics.refused(kind, reason)
    marks = list(NodeMark)
    views = [
        NodeView(node=a_node(f"n{number}", group=GROUPS[number % 4], mark=marks[number % 4], ready=number % 7 > 0))
        for number in range(nodes)
    ]
    states = [state for state in TaskState if not state.ended]
    counts = {
        TaskKind(group, state, level): Count(tasks, 3) for group in GROUPS for state in states for level in Priority
    }
    waits = {(group, level): 50.0 for group in GROUPS for level in Priority}

    async def everything() -> tuple[dict[TaskKind, Count], list[NodeView]]:
        return counts, views

    async def demand() -> OverallDemand:
        return OverallDemand(waits=waits, users={(f"user-{number}", "held"): 1 for number in range(tasks)})

    queries: Any = SimpleNamespace(everything=everything, demand=demand)
    text = (await metrics.exposition(queries)).decode()
    return sum(not line.startswith("#") for line in text.splitlines()), kept


async def test_a_large_platform_on_which_everything_has_happened_has_few_series() -> None:
    large, _ = await series_of(tasks=10_000, nodes=1500)
    assert large < MOST
    assert large == (await series_of(tasks=100, nodes=150))[0], "it does not grow with tasks and nodes"


async def test_what_is_kept_for_it_is_small_and_whole() -> None:
    _, kept = await series_of(tasks=10, nodes=8)
    assert len(kept.text) < 16 * 1024
    assert kept_of(kept.text) == kept
