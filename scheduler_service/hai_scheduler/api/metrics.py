"""Prometheus metrics of one service."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from hai_scheduler.api.kinds import Kind
from hai_scheduler.api.limits import Limits
from hai_scheduler.core.model import NodeMark, Priority, Task, TaskState
from hai_scheduler.service.queries import NodeView, Queries
from hai_scheduler.service.watch import Watch

__all__ = ["CONTENT_TYPE_LATEST", "Metrics"]

_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_SHORT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """All metrics, in a registry of their own."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._registry = CollectorRegistry()
        self._tasks = Gauge("hai_tasks", "Unfinished tasks.", ["state", "priority"], registry=self._registry)
        self._task_nodes = Gauge(
            "hai_task_nodes",
            "Nodes that unfinished tasks hold or wait for.",
            ["state", "priority"],
            registry=self._registry,
        )
        self._quarantined = Gauge(
            "hai_quarantined_nodes", "Nodes that the platform has quarantined.", ["group"], registry=self._registry
        )
        self._alarms = Counter(
            "hai_rotation_alarms_total",
            "Tasks that were told to leave for equals as often as they may be.",
            registry=self._registry,
        )
        self._alarms_counted = 0
        self._nodes = Gauge("hai_nodes", "Nodes.", ["group", "state"], registry=self._registry)
        self._requests = Histogram(
            "hai_http_request_seconds",
            "Requests answered, streams at their end.",
            ["method", "route", "status"],
            buckets=_SHORT,
            registry=self._registry,
        )
        self._streams = Gauge("hai_http_streams", "Open streams of events and logs.", registry=self._registry)
        self._errors = Counter(
            "hai_http_incidents_total", "Requests that failed by a fault of the platform.", registry=self._registry
        )
        self._refused = Counter(
            "hai_requests_refused_total",
            "Requests that were refused (429), by the kind of request and the limit that it met.",
            ["kind", "reason"],
            registry=self._registry,
        )
        self._working = Gauge(
            "hai_requests_working", "Requests that are worked on, streams included.", ["kind"], registry=self._registry
        )
        self._waiting = Gauge(
            "hai_requests_waiting", "Requests that wait for their turn.", ["kind"], registry=self._registry
        )
        for name, meaning, read in (
            ("hai_leading", "1 on the replica that leads, 0 on any other.", lambda: float(watch.leads)),
            ("hai_ticks", "Ticks since it started; looks at the cluster while another leads.", lambda: watch.ticks),
            ("hai_tick_seconds", "Length of the last tick.", lambda: watch.tick_seconds),
            ("hai_plan_seconds", "Length of the plan in the last tick.", lambda: watch.plan_seconds),
            (
                "hai_last_tick_timestamp_seconds",
                "When the last tick went through.",
                lambda: watch.last_tick.timestamp() if watch.last_tick else 0.0,
            ),
        ):
            Gauge(name, meaning, registry=self._registry).set_function(read)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request. `route` is the pattern, never the path: paths are without number."""
        known = method if method in _METHODS else "other"
        self._requests.labels(known, route, str(status)).observe(seconds)

    def incident(self) -> None:
        """Count a fault of ours."""
        self._errors.inc()

    def refused(self, kind: Kind, reason: str) -> None:
        """Count a request that met a limit. Whose it was is not said: labels of metrics are for everybody."""
        self._refused.labels(kind.value, reason).inc()

    def show_limits(self, limits: Limits) -> None:
        """Show how much of them is in use."""
        for kind in Kind:
            gate = limits[kind]
            self._working.labels(kind.value).set_function(partial(getattr, gate, "working"))
            self._waiting.labels(kind.value).set_function(partial(getattr, gate, "waiting"))

    def stream_opened(self) -> None:
        """A stream has begun."""
        self._streams.inc()

    def stream_closed(self) -> None:
        """A stream has ended."""
        self._streams.dec()

    async def exposition(self, queries: Queries) -> bytes:
        """The text that Prometheus reads, tasks and nodes as they are now."""
        tasks, nodes = await queries.everything()
        self._count_tasks(await queries.levels(tasks))
        self._count_nodes(nodes)
        self._alarms.inc(self._watch.rotation_alarms - self._alarms_counted)
        self._alarms_counted = self._watch.rotation_alarms
        return generate_latest(self._registry)

    def _count_tasks(self, tasks: Sequence[tuple[Task, Priority | None]]) -> None:
        count: Tally[tuple[str, str]] = Tally()
        held: Tally[tuple[str, str]] = Tally()
        for task, level in tasks:
            key = task.state.value, level.name if level is not None else "AUTO"
            count[key] += 1
            held[key] += task.nodes
        self._tasks.clear()
        self._task_nodes.clear()
        # A level without tasks is 0, not absent: a graph must not stop.
        for state in (state for state in TaskState if not state.ended):
            for name in (level.name for level in Priority):
                self._tasks.labels(state.value, name).set(0)
        for (state_name, name), number in count.items():
            self._tasks.labels(state_name, name).set(number)
            self._task_nodes.labels(state_name, name).set(held[state_name, name])

    def _count_nodes(self, nodes: Sequence[NodeView]) -> None:
        self._nodes.clear()
        for (group, state), number in Tally((view.node.group, _state(view)) for view in nodes).items():
            self._nodes.labels(group, state).set(number)
        self._quarantined.clear()
        for group in {view.node.group for view in nodes}:
            marks = [view.node.mark for view in nodes if view.node.group == group]
            self._quarantined.labels(group).set(marks.count(NodeMark.QUARANTINED))


def _state(view: NodeView) -> str:
    """One word a node, so that the words add up to the nodes."""
    if not view.node.ready:
        return "lost"
    if view.holders:
        return "held"
    return "free" if view.node.schedulable else view.node.mark.value
