"""What live runs took in hours that the ledger has not counted yet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.ledger.periods import Period, begin_of, end_of
from hai_scheduler.core.ledger.sums import Sums
from hai_scheduler.core.model.run import Run

_US: Final = timedelta(microseconds=1)


def sums_of_live(runs: Iterable[tuple[Run, float]], since: datetime, until: datetime) -> Mapping[datetime, Sums]:
    """Return what runs that go on took, by hour: node time of their starts, of use, and of saving.

    Args:
        runs: Each run that goes on, with the nodes that it holds, parts of nodes as fractions.
        since: Until when the ledger has counted runs that go on; runs that ended are in it already.
        until: Until when they are counted here.
    """
    taken: defaultdict[datetime, Counter[str]] = defaultdict(Counter)
    for run, nodes in runs:
        up = run.running_at or until
        leaves = until if run.notice is None else run.notice.at
        parts = (
            ("starting_us", run.started_at, up),
            ("useful_us", up, max(up, leaves)),
            ("saving_us", max(up, leaves), until),
        )
        for name, begin, end in parts:
            at, last = max(begin, since), min(end, until)
            while at < last:
                then = min(end_of(Period.HOUR, at), last)
                taken[begin_of(Period.HOUR, at)][name] += round((then - at) // _US * nodes)
                at = then
    return {
        hour: Sums(starting_us=some["starting_us"], useful_us=some["useful_us"], saving_us=some["saving_us"])
        for hour, some in taken.items()
    }
