"""The families of tallies: their names, labels and buckets. Prometheus shows each under its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Family:
    """A counter or, with `bounds`, a histogram of seconds, for each combination of its labels."""

    name: str
    meaning: str
    labels: tuple[str, ...]
    #: Upper bounds of the buckets in seconds, in order; the last bucket, without a bound, is not among them. Empty: it
    #: is a counter.
    bounds: tuple[float, ...] = ()


_WAITS: Final = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 28800.0, 86400.0)
_STARTS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_NOTICES: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
_SHORT: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_REQUESTS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

WAIT: Final = Family(
    "hai_task_wait_seconds",
    "Time that a task waited for a turn, counted when the turn begins; time for which it was held is left out.",
    ("group", "priority"),
    _WAITS,
)
START: Final = Family(
    "hai_start_seconds", "Time from the decision to start a run until every rank was up.", ("group",), _STARTS
)
NOTICE: Final = Family(
    "hai_notice_seconds",
    "Time from a notice until every rank was gone, by how the job is told and how it left.",
    ("profile", "outcome"),
    _NOTICES,
)
RUNS_ENDED: Final = Family(
    "hai_runs_ended_total",
    "Runs that have ended, by reason; clean is false for those that were cut off or broke.",
    ("group", "reason", "clean"),
)
NODE_SECONDS: Final = Family(
    "hai_node_seconds_total",
    "Time of all nodes, by what they did: useful, overhead, lost, idle or down.",
    ("group", "state"),
)
TICK: Final = Family("hai_tick_seconds", "Length of a tick of the loop, its plan and its commit included.", (), _SHORT)
PLAN: Final = Family("hai_plan_seconds", "Length of a plan: the decision on all tasks.", (), _SHORT)
DATABASE: Final = Family(
    "hai_db_seconds", "Time that the database took, by statement; turn: waiting to write.", ("process", "op"), _SHORT
)
CLUSTER: Final = Family(
    "hai_cluster_request_seconds",
    "Time that a request to the cluster took, by what was asked and the status of the answer.",
    ("process", "verb", "code"),
    _REQUESTS,
)

FAMILIES: Final[Mapping[str, Family]] = MappingProxyType(
    {each.name: each for each in (WAIT, START, NOTICE, RUNS_ENDED, NODE_SECONDS, TICK, PLAN, DATABASE, CLUSTER)}
)

#: How many combinations of labels a family may have; what comes later is counted under `OTHER`.
MOST_SERIES: Final = 150
#: The label of node groups without one of their own, and all labels of what is counted beyond `MOST_SERIES`.
OTHER: Final = "other"
#: How many node groups have a label of their own, unless the settings name them.
MOST_GROUPS: Final = 6


def group_names(allowed: frozenset[str], known: tuple[str, ...], seen: frozenset[str]) -> tuple[str, ...]:
    """Return the node groups that have a label of their own.

    Args:
        allowed: The groups that the settings name; empty: the first `MOST_GROUPS` that were seen.
        known: What this function returned before, so that a group keeps its label.
        seen: The groups that there are now.
    """
    if allowed:
        return tuple(sorted(allowed))
    return (known + tuple(sorted(seen.difference(known))))[: max(MOST_GROUPS, len(known))]


def group_label(group: str, names: tuple[str, ...]) -> str:
    """Return the label of a node group."""
    return group if group in names else OTHER
