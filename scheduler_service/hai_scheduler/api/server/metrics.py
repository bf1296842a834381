"""Prometheus metrics of one process of the API; values on ticks are those that the scheduling loop reports."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric

from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.limits import Limits
from hai_scheduler.api.server.tally_lines import TallyLines
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.tallies.families import OTHER, group_label, group_names
from hai_scheduler.core.tallies.tallies import Tallies
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.insight.census import Count, TaskKind
from hai_scheduler.service.insight.platform_details import state_of
from hai_scheduler.service.insight.queries import NodeView, Queries
from hai_scheduler.service.insight.waits import OverallDemand
from hai_scheduler.service.platform.health import SILENCE
from hai_scheduler.service.platform.loop_status import LoopStatus, StatusReader
from hai_scheduler.service.shared.settings import LabelSettings
from hai_scheduler.service.tallies.kept import TallyReader

__all__ = ["CONTENT_TYPE_LATEST", "Metrics"]

# Else each counter is a second series, of when it began: Prometheus finds resets without it.
disable_created_metrics()  # type: ignore[no-untyped-call]

_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
#: Kinds whose requests take as long as their clients like.
_LONG = frozenset({Kind.STREAM, Kind.RUN_WAIT, Kind.UPLOAD})
#: What may trouble the loop, by the label that says so.
_TROUBLES: Mapping[str, Callable[[LoopStatus], float]] = {
    "cluster": lambda loop: float(loop.blind),
    "effects": lambda loop: float(loop.trouble is not None),
    "policy": lambda loop: float(loop.policy_trouble is not None),
}
#: What the loop says of its ticks: name, meaning, value.
_OF_THE_LOOP: Sequence[tuple[str, str, Callable[[LoopStatus], float]]] = (
    ("hai_ticks", "Ticks of the loop that leads, since it started.", lambda loop: loop.ticks),
    (
        "hai_last_tick_timestamp_seconds",
        "When its last tick went through, as it last said.",
        lambda loop: loop.last_tick.timestamp() if loop.last_tick else 0.0,
    ),
)
_SHORT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """All metrics of the API, in their own registry."""

    def __init__(
        self,
        news: StatusReader,
        kept: TallyReader | None = None,
        *,
        own: Tallies | None = None,
        labels: LabelSettings | None = None,
    ) -> None:
        """Create all families.

        Args:
            news: Reads what the loop says of itself.
            kept: Reads what the loop has counted; None: nothing is shown of that.
            own: The timings of this process.
            labels: What is named; None: the default.
        """
        self._news, self._kept, self._own = news, kept, own or Tallies()
        self._labels = labels or LabelSettings()
        self._registry = CollectorRegistry()
        gauge, counter = partial(Gauge, registry=self._registry), partial(Counter, registry=self._registry)
        self._lines = TallyLines()
        self._registry.register(self._lines)
        self._tasks = gauge("hai_tasks", "Unfinished tasks.", ["state", "priority"])
        held = "Nodes that unfinished tasks hold or wait for."
        self._task_nodes = gauge("hai_task_nodes", held, ["state", "priority"])
        self._quarantined = gauge("hai_quarantined_nodes", "Nodes that the platform has quarantined.", ["group"])
        alarms = "Tasks that were told to leave for equals as often as they may be."
        self._alarms = counter("hai_rotation_alarms_total", alarms)
        #: The loop whose alarms were counted last, and how many of its alarms are counted.
        self._alarms_counted = ("", 0)
        self._nodes = gauge("hai_nodes", "Nodes.", ["group", "state"])
        oldest = "How long the task waits that has waited longest for a turn; held ones are left out."
        self._oldest = gauge("hai_oldest_wait_seconds", oldest, ["group", "priority"])
        of_users = "Nodes that unfinished tasks of a user hold or wait for, if the settings allow names of users."
        self._users = gauge("hai_user_task_nodes", of_users, ["user", "state"])
        requests = "Requests answered, streams at their end, by the class of the status: 2xx, 4xx, 5xx."
        self._requests = counter("hai_http_requests_total", requests, ["method", "route", "status"])
        times = "Time to answer a request, by kind of request; streams and files that are sent are left out."
        self._times = Histogram("hai_http_request_seconds", times, ["kind"], buckets=_SHORT, registry=self._registry)
        self._streams = gauge("hai_http_streams", "Open streams of events and logs.")
        self._errors = counter("hai_http_incidents_total", "Requests that failed by a fault of the platform.")
        refused = "Requests that were refused (429), by the kind of request and the limit that it met."
        self._refused = counter("hai_requests_refused_total", refused, ["kind", "reason"])
        self._working = gauge("hai_requests_working", "Requests that are worked on, streams included.", ["kind"])
        self._waiting = gauge("hai_requests_waiting", "Requests that wait for their turn.", ["kind"])
        self._show_the_loop()

    def _show_the_loop(self) -> None:
        """Create the families that are read from what the loop says of itself."""
        gauge = partial(Gauge, registry=self._registry)
        broken = (
            "1 while the loop has a problem: it cannot see the cluster, carry out decisions, or use policy numbers."
        )
        trouble = gauge("hai_trouble", broken, ["what"])
        for name, meaning, read in _OF_THE_LOOP:
            gauge(name, meaning).set_function(partial(self._of_the_loop, read))
        for what, is_so in _TROUBLES.items():
            trouble.labels(what).set_function(partial(self._of_the_loop, is_so))
        gauge("hai_leading", "1 while a scheduling loop ticks, 0 while none does.").set_function(self._leading)

    def _leading(self) -> float:
        silence = self._news.silence()
        return float(silence is not None and silence < SILENCE)

    def _of_the_loop(self, read: Callable[[LoopStatus], float]) -> float:
        return 0.0 if self._news.status is None else read(self._news.status)

    def request(self, method: str, route: str, kind: Kind | None, status: int, seconds: float) -> None:
        """Count an answered request.

        Args:
            method: Its method.
            route: The pattern of its route, not the path: the number of paths has no bound.
            kind: Its kind; None for a route that there is not.
            status: The status of the answer.
            seconds: How long it took.
        """
        known = method if method in _METHODS else OTHER
        self._requests.labels(known, route, f"{status // 100}xx").inc()
        if kind not in _LONG:
            self._times.labels(Kind.PUBLIC.value if kind is None else kind.value).observe(seconds)

    def incident(self) -> None:
        """Count an internal error."""
        self._errors.inc()

    def refused(self, kind: Kind, reason: str) -> None:
        """Count a request that met a limit, without its user: labels of metrics are shown to all who read metrics."""
        self._refused.labels(kind.value, reason).inc()

    def show_limits(self, limits: Limits) -> None:
        """Add metrics that show how much of each limit is in use."""
        for kind in Kind:
            gate = limits[kind]
            self._working.labels(kind.value).set_function(partial(getattr, gate, "working"))
            self._waiting.labels(kind.value).set_function(partial(getattr, gate, "waiting"))

    def stream_opened(self) -> None:
        """Count a stream that has begun."""
        self._streams.inc()

    def stream_closed(self) -> None:
        """Count a stream that has ended."""
        self._streams.dec()

    def families(self) -> list[Metric]:
        """Return all families, also those that have no values yet."""
        return list(self._registry.collect())

    async def exposition(self, queries: Queries) -> bytes:
        """Return the text that Prometheus reads, with tasks and nodes as they are now."""
        with suppress(Temporary):  # then with what the loop last reported
            await self._news.look()
            if self._kept is not None:
                await self._kept.look()
        counts, nodes = await queries.everything()
        self._lines.shown = Tallies() if self._kept is None else self._kept.kept.tallies.copy()
        self._lines.shown.absorb(self._own)
        known = () if self._kept is None else self._kept.kept.groups
        names = group_names(self._labels.groups, known, frozenset(view.node.group for view in nodes))
        self._count_tasks(counts)
        self._count_nodes(nodes, names)
        self._count_demand(await queries.demand(), names)
        self._count_alarms()
        return generate_latest(self._registry)

    def _count_alarms(self) -> None:
        """Add the loop's new alarms: the loop counts them since its start, this process since its own."""
        loop = self._news.status
        if loop is None:
            return
        holder, counted = self._alarms_counted
        self._alarms.inc(loop.rotation_alarms - (counted if holder == loop.holder else 0))
        self._alarms_counted = loop.holder, loop.rotation_alarms

    def _count_tasks(self, counts: Mapping[TaskKind, Count]) -> None:
        count: Tally[tuple[str, str]] = Tally()
        held: Tally[tuple[str, str]] = Tally()
        for kind, each in counts.items():
            key = kind.state.value, kind.level.name if kind.level is not None else "AUTO"
            count[key] += each.tasks
            held[key] += each.nodes
        self._tasks.clear()
        self._task_nodes.clear()
        # A level without tasks is 0, not absent, so that graphs have no gaps.
        for state in (state for state in TaskState if not state.ended):
            for name in (level.name for level in Priority):
                self._tasks.labels(state.value, name).set(0)
        for (state_name, name), number in count.items():
            self._tasks.labels(state_name, name).set(number)
            self._task_nodes.labels(state_name, name).set(held[state_name, name])

    def _count_nodes(self, nodes: Sequence[NodeView], names: tuple[str, ...]) -> None:
        labels = {group: group_label(group, names) for group in {view.node.group for view in nodes}}
        states = Tally((labels[view.node.group], state_of(view)) for view in nodes)
        quarantined = Tally(labels[view.node.group] for view in nodes if view.node.mark is NodeMark.QUARANTINED)
        self._nodes.clear()
        self._quarantined.clear()
        for group in labels.values():
            self._quarantined.labels(group).set(quarantined[group])
            # 0, not absent, so that graphs have no gaps and alerts know the state.
            for state in ("free", "held", "lost"):
                self._nodes.labels(group, state).set(0)
        for (group, state), number in states.items():
            self._nodes.labels(group, state).set(number)

    def _count_demand(self, demand: OverallDemand, names: tuple[str, ...]) -> None:
        self._oldest.clear()
        waits: dict[tuple[str, str], float] = {}
        for (group, level), seconds in demand.waits.items():
            key = group_label(group, names), level.name
            waits[key] = max(seconds, waits.get(key, 0.0))
        for key, seconds in waits.items():
            self._oldest.labels(*key).set(seconds)
        self._users.clear()
        if self._labels.by_user:
            for (user, state), number in demand.users.items():
                self._users.labels(user, state).set(number)
