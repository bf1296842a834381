"""NodeTime: how much node time there was, by node group and hour. It is what occupancy is measured against."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from hai_scheduler.core.model.node import Node

_HOUR: Final = timedelta(hours=1)
_US: Final = timedelta(microseconds=1)
#: A longer time without a look is not counted: nobody knows which nodes there were.
LONGEST_GAP: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTime:
    """The nodes of a group in one hour: their time, and their GPUs' time, in microseconds."""

    #: Begin of the hour, UTC.
    hour: datetime
    node_group: str
    node_us: int
    gpu_us: int
    #: Node time in which nodes took no new runs: away, closed, cordoned, drained or in quarantine.
    down_us: int
    #: Up to when it was counted.
    until: datetime

    def plus(self, other: NodeTime | None) -> NodeTime:
        """Return both together; `other` is of the same group and hour."""
        if other is None:
            return self
        return replace(
            self,
            node_us=self.node_us + other.node_us,
            gpu_us=self.gpu_us + other.gpu_us,
            down_us=self.down_us + other.down_us,
            until=max(self.until, other.until),
        )


def capacities(nodes: Iterable[Node], since: datetime | None, now: datetime) -> list[NodeTime]:
    """Return what these nodes were from the last look until now, cut at full hours.

    Args:
        nodes: The nodes, as they are now.
        since: The last look; None: this is the first, which counts nothing but says that it was made.
        now: The present time. A clock that was set back counts nothing until it has caught up.
    """
    by_group: defaultdict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        by_group[node.group].append(node)
    begin = now if since is None or now - since > LONGEST_GAP else since
    return [
        NodeTime(
            hour=hour,
            node_group=group,
            node_us=len(members) * length,
            gpu_us=sum(node.gpus for node in members) * length,
            down_us=sum(not node.schedulable for node in members) * length,
            until=end,
        )
        for hour, length, end in _hours(begin, now)
        for group, members in sorted(by_group.items())
    ]


def _hours(begin: datetime, end: datetime) -> Iterator[tuple[datetime, int, datetime]]:
    """Yield hour, microseconds in it and end of each part; one empty part if there is no time between the two."""
    if begin == end:
        yield _hour_of(begin), 0, end
    while begin < end:
        hour = _hour_of(begin)
        until = min(hour + _HOUR, end)
        yield hour, (until - begin) // _US, until
        begin = until


def _hour_of(when: datetime) -> datetime:
    return when.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
