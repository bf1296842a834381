"""Sums over rows of the ledger, and how a row is shared out to hours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from hai_scheduler.core.ledger.histograms import bucket_of, bucket_of_wait
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.periods import Period, begin_of, end_of
from hai_scheduler.core.ledger.row import LedgerOutcome, LedgerRow
from hai_scheduler.core.ledger.slowdown import MILLIONTHS

_US: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What runs took in some time. Times are in microseconds, as integers: sums of sums are exact.

    Node time is the time of runs, times their nodes; of a node that a run shares, its part by GPUs. GPU time is the
    time of runs, times their GPUs. `starting`, `useful`, `saving` and `lost` together are all that was held.
    """

    #: Runs that started, and how long their tasks had waited for that in all.
    starts: int = 0
    wait_us: int = 0
    #: Runs that ended,
    ends: int = 0
    #: of them those whose tasks go on later because they were told to leave, or broke;
    interruptions: int = 0
    #: of these those that broke: a node was lost, or ranks could not be started;
    broken: int = 0
    #: those whose command failed, or which reached their time limit;
    failures: int = 0
    #: and those of less than 15 minutes that were not interrupted.
    short: int = 0
    #: Node time.
    starting_us: int = 0
    useful_us: int = 0
    saving_us: int = 0
    lost_us: int = 0
    #: Node time of runs that failed; the four above have it too.
    failed_us: int = 0
    #: GPU time.
    gpu_starting_us: int = 0
    gpu_useful_us: int = 0
    gpu_saving_us: int = 0
    gpu_lost_us: int = 0
    gpu_failed_us: int = 0
    #: GPU time in which GPUs did nothing, as far as it is known; the four above have it too.
    gpu_idle_us: int = 0
    #: Energy of GPUs, in joules, as far as it is known.
    energy_j: int = 0
    #: Time of processor cores that development containers held.
    core_us: int = 0
    #: Tasks that ended by themselves, and the sum of their slowdowns, in millionths (`core.ledger.slowdown`).
    tasks: int = 0
    slowdown_ppm: int = 0
    #: How many of the runs that started had waited how many seconds, by bucket (`core.ledger.histograms`).
    waits: Mapping[int, int] = field(default_factory=dict)
    #: How many of the tasks that ended by themselves had which slowdown, by bucket.
    slowdowns: Mapping[int, int] = field(default_factory=dict)

    @property
    def node_us(self) -> int:
        """All node time."""
        return self.starting_us + self.useful_us + self.saving_us + self.lost_us

    @property
    def gpu_us(self) -> int:
        """All GPU time."""
        return self.gpu_starting_us + self.gpu_useful_us + self.gpu_saving_us + self.gpu_lost_us

    @property
    def nothing(self) -> bool:
        """Whether all sums are 0."""
        return not any(getattr(self, name) for name in (*MEASURES, *HISTOGRAMS))

    def __add__(self, other: Sums) -> Sums:
        return _combined(self, other, 1)

    def __sub__(self, other: Sums) -> Sums:
        return _combined(self, other, -1)


#: The names of the histograms.
HISTOGRAMS: Final = ("waits", "slowdowns")
#: The names of the sums that are numbers.
MEASURES: Final = tuple(each.name for each in fields(Sums) if each.name not in HISTOGRAMS)
_NUMBERS = attrgetter(*MEASURES)


def _combined(one: Sums, other: Sums, sign: int) -> Sums:
    pairs = zip(MEASURES, _NUMBERS(one), _NUMBERS(other), strict=True)
    return Sums(
        **{name: mine + sign * more for name, mine, more in pairs},
        waits=merged(one.waits, other.waits, sign),
        slowdowns=merged(one.slowdowns, other.slowdowns, sign),
    )


def merged(one: Mapping[int, int], other: Mapping[int, int], sign: int = 1) -> Mapping[int, int]:
    """Return the counts of two histograms together, or their difference; buckets without counts are left out."""
    if not other:
        return one
    counts = dict(one)
    for bucket, count in other.items():
        counts[bucket] = counts.get(bucket, 0) + sign * count
    return {bucket: count for bucket, count in counts.items() if count}


def total(sums: Iterable[Sums]) -> Sums:
    """Return the sum of all of them."""
    return sum(sums, Sums())


def by_hour(row: LedgerRow) -> dict[datetime, Sums]:
    """Return what each hour has of a row, by the begin of the hour."""
    shares: dict[datetime, Sums] = {}
    begin = row.started_at
    while begin < row.ended_at:
        end = min(end_of(Period.HOUR, begin), row.ended_at)
        shares[begin_of(Period.HOUR, begin)] = _between(row, begin, end)
        begin = end
    if row.part == 1:
        wait = row.facts.wait
        waited = row.facts.key.kind is not WorkKind.DEVELOPMENT  # the queue does not know development containers
        started = Sums(starts=1, wait_us=wait // _US, waits={bucket_of_wait(wait): 1} if waited else {})
        _add(shares, begin_of(Period.HOUR, row.started_at), started)
    if row.last:
        _add(shares, begin_of(Period.HOUR, row.ended_at), _ended(row))
    if not row.length:  # nothing to spread it over
        _add(
            shares, begin_of(Period.HOUR, row.started_at), Sums(gpu_idle_us=row.idle // _US, energy_j=row.energy_j or 0)
        )
    return shares


def by_period(hours: Mapping[datetime, Sums], period: Period) -> dict[datetime, Sums]:
    """Return the sums of longer periods, from those of hours or of any shorter periods."""
    sums: dict[datetime, Sums] = {}
    for begin, share in hours.items():
        _add(sums, begin_of(period, begin), share)
    return sums


def _add(sums: dict[datetime, Sums], at: datetime, more: Sums) -> None:
    known = sums.get(at)
    sums[at] = more if known is None else known + more


def _ended(row: LedgerRow) -> Sums:
    outcome = row.outcome
    interrupted = outcome in (LedgerOutcome.INTERRUPTED, LedgerOutcome.BROKEN)
    return Sums(
        ends=1,
        interruptions=int(interrupted),
        broken=int(outcome is LedgerOutcome.BROKEN),
        failures=int(outcome is LedgerOutcome.FAILED),
        short=int(row.short),
        tasks=int(row.slowdown is not None),
        slowdown_ppm=row.slowdown or 0,
        slowdowns={} if row.slowdown is None else {bucket_of(row.slowdown / MILLIONTHS): 1},
    )


def _between(row: LedgerRow, begin: datetime, end: datetime) -> Sums:
    """Return what the time from `begin` to `end` has of a row.

    Fractions of a microsecond are rounded down from the begin of the row on, so that all cuts of it have the same sum.
    """
    facts, whole = row.facts, row.length // _US
    since, until = (begin - row.started_at) // _US, (end - row.started_at) // _US
    nodes, of = (facts.gpus, facts.node_gpus) if facts.node_gpus else (facts.nodes, 1)
    node, gpu, mark = [], [], 0
    for length in (row.starting, row.useful, row.saving, row.lost):
        first, mark = mark, mark + length // _US
        low = min(max(first, since), until)
        high = min(max(mark, since), until)
        node.append(high * nodes // of - low * nodes // of)
        gpu.append((high - low) * facts.gpus)
    idle, energy = row.idle // _US, row.energy_j or 0
    failed = row.outcome is LedgerOutcome.FAILED
    return Sums(
        starting_us=node[0],
        useful_us=node[1],
        saving_us=node[2],
        lost_us=node[3],
        failed_us=sum(node) if failed else 0,
        gpu_starting_us=gpu[0],
        gpu_useful_us=gpu[1],
        gpu_saving_us=gpu[2],
        gpu_lost_us=gpu[3],
        gpu_failed_us=sum(gpu) if failed else 0,
        gpu_idle_us=idle * until // whole - idle * since // whole,
        energy_j=energy * until // whole - energy * since // whole,
        core_us=until * facts.millicores // 1000 - since * facts.millicores // 1000,
    )
