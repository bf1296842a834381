"""Makes the rows of a run: its times, cut at each midnight in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.ledger.row import SHORT, LedgerFacts, LedgerKey, LedgerOutcome, LedgerRow, counted_as
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task

#: Of a longer run the last part of this length counts: clocks that were wrong by decades must not make endless rows.
LONGEST: Final = timedelta(days=1000)

_NONE: Final = timedelta(0)
_DAY: Final = timedelta(days=1)
_US: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUse:
    """What the GPUs of a run did, as its ranks have measured it."""

    #: GPU time in which GPUs did nothing, over all GPUs of the run.
    idle: timedelta = _NONE
    energy_j: int | None = None


_UNKNOWN: Final = GpuUse()


def facts_of(task: Task, run: Run, *, kind: WorkKind, groups: frozenset[str], gpus: Mapping[str, int]) -> LedgerFacts:
    """Return what is known of a run of the task when it starts.

    Args:
        task: The task, as it was when the run started.
        run: The run.
        kind: What kind of work the task is.
        groups: The user's groups at the Hub.
        gpus: GPUs of a node, by node group.
    """
    nodes, whole = len(run.ranks), gpus.get(task.group, 0)
    shares = task.gpus is not None and 0 < task.gpus < whole
    return LedgerFacts(
        run_id=run.id,
        task_id=task.id,
        number=run.number,
        key=LedgerKey(
            user=task.user, groups=tuple(sorted(groups)), node_group=task.group, priority=run.priority, kind=kind
        ),
        nodes=nodes,
        gpus=nodes * (whole if task.gpus is None else task.gpus),
        node_gpus=whole if shares else 0,
        wait=max(_NONE, run.started_at - task.waiting_since),
    )


def rows_of(
    facts: LedgerFacts, run: Run, until: datetime, *, use: GpuUse = _UNKNOWN, slowdown: int | None = None
) -> tuple[LedgerRow, ...]:
    """Return the rows of a run, at least one.

    Args:
        facts: What was known when it started.
        run: The run.
        until: Until when it is counted, if it has not ended.
        use: What its GPUs did.
        slowdown: That of its task in millionths, if the task has ended by itself with this run.
    """
    # A clock may have been set back since the start.
    end = max(run.started_at, until if run.ended_at is None else run.ended_at)
    begin = max(run.started_at, end - LONGEST)
    marks = _marks(run, begin, end)
    reason = None if run.ended_at is None else run.reason
    outcome = None if reason is None else counted_as(reason)
    by_itself = outcome not in (None, LedgerOutcome.INTERRUPTED, LedgerOutcome.BROKEN)
    by_itself = by_itself and facts.key.kind is not WorkKind.DEVELOPMENT
    cuts = _cuts(begin, end)
    spread = _Spread(begin, end, use)
    return tuple(
        LedgerRow(
            facts=facts,
            part=part,
            started_at=since,
            ended_at=to,
            starting=_overlap(since, to, marks[0], marks[1]),
            useful=_overlap(since, to, marks[1], marks[2]),
            saving=_overlap(since, to, marks[2], marks[3]),
            lost=_overlap(since, to, marks[3], marks[4]),
            idle=spread.idle(since, to),
            energy_j=spread.energy(since, to),
            outcome=outcome,
            reason=reason,
            last=outcome is not None and to == end,
            short=by_itself and to == end and end - begin < SHORT,
            slowdown=slowdown if outcome is not None and to == end else None,
        )
        for part, (since, to) in enumerate(pairwise(cuts), 1)
    )


def _marks(run: Run, begin: datetime, end: datetime) -> tuple[datetime, datetime, datetime, datetime, datetime]:
    """Return when the run began, was up, was told to leave, began to be lost, and ended: none before the one before.

    Clocks may be set while a run lives, so each time is moved between its neighbours.
    """
    up = end if run.running_at is None else min(max(run.running_at, begin), end)
    # The lost work of a run is that of all its nodes.
    lost = _NONE if run.lost is None else min(run.lost // max(1, len(run.ranks)), end - up)
    lost_from = end - lost
    told = lost_from if run.notice is None else min(max(run.notice.at, up), lost_from)
    return begin, up, told, lost_from, end


def _cuts(begin: datetime, end: datetime) -> list[datetime]:
    cuts = [begin]
    midnight = begin_of(Period.DAY, begin) + _DAY
    while midnight < end:
        cuts.append(midnight)
        midnight += _DAY
    return [*cuts, end]


def _overlap(since: datetime, to: datetime, begin: datetime, end: datetime) -> timedelta:
    return max(_NONE, min(to, end) - max(since, begin))


@dataclass(frozen=True, slots=True)
class _Spread:
    """What was measured for a whole run, spread evenly over its time: the parts sum up to it exactly."""

    begin: datetime
    end: datetime
    use: GpuUse

    def idle(self, since: datetime, to: datetime) -> timedelta:
        return self._part(self.use.idle // _US, since, to) * _US

    def energy(self, since: datetime, to: datetime) -> int | None:
        return None if self.use.energy_j is None else self._part(self.use.energy_j, since, to)

    def _part(self, amount: int, since: datetime, to: datetime) -> int:
        before = self._until(amount, since) if since > self.begin else 0
        return self._until(amount, to) - before

    def _until(self, amount: int, at: datetime) -> int:
        if at >= self.end:
            return amount
        return amount * ((at - self.begin) // _US) // ((self.end - self.begin) // _US)
