"""Carries out orders: first the reads from the store, then a computation without I/O."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from typing import Final

from hai_scheduler.core.explaining.alternatives import ChangeKind, WhatIf
from hai_scheduler.core.explaining.what_if import counterfactuals, with_task
from hai_scheduler.core.model.ids import Origin, TaskId
from hai_scheduler.core.model.leaving import Left, Profile, Signal, SignalName, Source
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, Checkpoint, Fallback, Notice, Rank, RankState, Run
from hai_scheduler.core.model.secret_refs import SecretRef
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Retry, Task, TaskState
from hai_scheduler.core.model.usage_summary import UsageLevel, UsageSummary
from hai_scheduler.core.model.verdicts import Holder, Verdict, VerdictKind
from hai_scheduler.core.profiling.merging import Running, trace_piece
from hai_scheduler.core.profiling.summary import summary_of
from hai_scheduler.core.profiling.trace_reading import NoTrace
from hai_scheduler.ports.errors import Absent
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.service.computing.plain import Plain
from hai_scheduler.service.insight.forecast import Cost, Forecast, ForecastAssumption, Outcome, forecast_start
from hai_scheduler.service.insight.history import KEPT, Basis, History
from hai_scheduler.service.insight.mark_preview import Displaced, Later, MarkPreview, Moved, preview_mark
from hai_scheduler.service.insight.past import read_past
from hai_scheduler.service.insight.trial import GroupTrial, LevelTrial, Trial, TrialAssumption, TrialSide, try_policies
from hai_scheduler.service.logs.lines import Cursor, Hits, Line
from hai_scheduler.service.logs.search import CHUNK, Search, ranks_of, search
from hai_scheduler.service.scheduling.snapshot_reader import snapshot_of
from hai_scheduler.service.shared.orders import (
    Bounds,
    ExperimentFault,
    ExperimentFaults,
    ExperimentOrder,
    ForecastOrder,
    MergeOrder,
    Order,
    PreviewOrder,
    RunLog,
    SearchOrder,
    SnapshotFacts,
    Told,
    TraceMerged,
    TraceOrder,
    TraceRead,
    TrialOrder,
    WhatIfOrder,
)
from hai_scheduler.service.tasks.experiments import InvalidExperiment, read_experiment
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.workspace.snapshot_ref import SnapshotRef
from hai_scheduler.store.store import Store
from hai_scheduler.store.transaction import Tx

#: The JSON form of all classes in orders and answers.
PLAIN: Final = Plain(
    *(
        Basis,
        Blame,
        Bounds,
        ChangeKind,
        Checkpoint,
        Cost,
        Cursor,
        ExperimentOrder,
        SnapshotFacts,
        ExperimentFault,
        ExperimentFaults,
        Fallback,
        Forecast,
        ForecastAssumption,
        ForecastOrder,
    ),
    *(Fallback, Hits, Holder, Line, LogPlace, Node, NodeMark, Notice, Origin, Outcome, Policies, Policy),
    *(Left, Priority, Profile, Rank, RankState, Reason, Retry, Run, RunLog, SearchOrder, SecretRef),
    *(Signal, SignalName, Source),
    *(Displaced, GroupTrial, Later, LevelTrial, MarkPreview, Moved, PreviewOrder),
    *(Submission, Task, TaskState, TraceOrder, TraceRead, Trial, TrialAssumption, TrialOrder, TrialSide),
    *(Verdict, VerdictKind, WhatIf, WhatIfOrder),
    *(MergeOrder, Pin, SnapshotRef, TraceMerged, UsageLevel, UsageSummary),
)

_ENDED: Final = frozenset(state for state in TaskState if state.ended)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The store and the reader of logs with which orders are carried out."""

    store: Store
    #: Reads a piece of a rank's log from a folder: (place, rank, offset, limit). Raises Absent and Temporary.
    read_log: Callable[[LogPlace, int, int, int], LogChunk]


#: A computation: a function that needs no store and may take long. It may call what it is given with its progress.
Computation = Callable[[Told], object]


async def begin(order: Order, facts: SnapshotFacts | None, desk: Desk) -> Computation:
    """Read what the order needs from the store, and return the computation. Raises Temporary."""
    match order:
        case TrialOrder():
            return await _trial(order, facts, desk.store)
        case _:
            compute = await _begin(order, facts, desk)
            return lambda _tell: compute()


async def _begin(order: Order, facts: SnapshotFacts | None, desk: Desk) -> Callable[[], object]:
    """Return the computation of an order that takes no longer than a reader waits anyway."""
    match order:
        case ExperimentOrder():
            return lambda: _read_experiment(order.text)
        case SearchOrder():
            if any(log.place.folder is None for log in order.logs):
                kept = await _search_kept(order, desk.store)
                return lambda: kept
            return lambda: search(order, lambda log, rank, offset: desk.read_log(log.place, rank, offset, CHUNK))
        case WhatIfOrder():
            snapshot, policies = await _snapshot(order, facts, desk.store), _policies(facts)
            # The task may be newer than the queue that was read here.
            now = with_task(snapshot, order.task)
            return lambda: counterfactuals(now, policies, order.task.id, most_plans=order.most_plans)
        case TraceOrder():
            async with desk.store.read() as tx:
                data = await tx.recordings.trace(order.recording, order.rank, order.trace)
            return lambda: _read_trace(data)
        case MergeOrder():
            async with desk.store.read() as tx:
                data = await tx.recordings.trace(order.recording, order.rank, order.trace)
            return lambda: _merge_trace(order, data)
        case ForecastOrder():
            return await _forecast(order, facts, desk.store)
        case PreviewOrder():
            return await _preview(order, facts, desk.store)
        case TrialOrder():
            raise TypeError("a trial tells of its progress: `begin` begins it")


async def _forecast(order: ForecastOrder, facts: SnapshotFacts | None, store: Store) -> Callable[[], Forecast]:
    snapshot, policies, task = await _snapshot(order, facts, store), _policies(facts), order.task
    if order.groups is not None:
        snapshot = replace(snapshot, groups_of={**snapshot.groups_of, task.user: order.groups})
    if order.hypothetical:
        task = replace(task, id=TaskId(max((one.id for one in snapshot.tasks), default=0) + 1))
    async with store.read() as tx:
        history = await _history(tx, snapshot, [task.group])
    return lambda: forecast_start(snapshot, policies, task, history, order.bounds, hypothetical=order.hypothetical)


async def _preview(order: PreviewOrder, facts: SnapshotFacts | None, store: Store) -> Callable[[], MarkPreview]:
    snapshot, policies = await _snapshot(order, facts, store), _policies(facts)
    groups = sorted({node.group for node in snapshot.nodes if node.name in order.nodes})
    async with store.read() as tx:
        history = await _history(tx, snapshot, groups)
    return lambda: preview_mark(snapshot, policies, frozenset(order.nodes), order.mark, history, order.bounds)


async def _history(tx: Tx, snapshot: Snapshot, groups: Collection[str]) -> History:
    """What is known of how long tasks of those node groups run."""
    ended: list[Task] = []
    for group in groups:
        ended += await tx.tasks.page(TaskFilter(states=_ENDED, group=group), before=None, limit=KEPT)
    return History(ended, await tx.progress.of([task.id for task in snapshot.tasks if task.group in groups]))


async def _trial(order: TrialOrder, facts: SnapshotFacts | None, store: Store) -> Computation:
    assert facts is not None, "simulations need nodes"
    past = await read_past(store, order)
    return lambda tell: try_policies(past, facts, order, tell)


async def _snapshot(
    order: ForecastOrder | WhatIfOrder | PreviewOrder, facts: SnapshotFacts | None, store: Store
) -> Snapshot:
    """A snapshot with the nodes of the latest tick and the present queue."""
    assert facts is not None, "plans need nodes"
    async with store.read() as tx:
        tasks, uses, strikes = await tx.tasks.unfinished(), await tx.uses.all(), await tx.nodes.strikes()
        return await snapshot_of(tx, order.now, facts.nodes, tasks, uses, strikes)


def _policies(facts: SnapshotFacts | None) -> Policies:
    return Policies() if facts is None else facts.policies


def _read_experiment(text: str) -> Submission | ExperimentFaults:
    try:
        return read_experiment(text)
    except InvalidExperiment as error:
        return ExperimentFaults(
            faults=tuple(ExperimentFault(field=one.field, value=one.value, message=one.message) for one in error.faults)
        )


def _read_trace(data: bytes) -> TraceRead:
    began = time.thread_time()
    try:
        found = TraceRead(summary=json.dumps(asdict(summary_of(data)), allow_nan=False))
    except NoTrace as error:
        found = TraceRead(fault=str(error))
    return replace(found, seconds=time.thread_time() - began)


def _merge_trace(order: MergeOrder, data: bytes) -> TraceMerged:
    try:
        before = Running(order.crc, order.size, order.base)
        piece = trace_piece(data, before, label=order.label, prefix=order.prefix)
    except NoTrace as error:
        return TraceMerged(fault=str(error))
    after = piece.running
    packed = base64.b64encode(piece.data).decode("ascii")
    return TraceMerged(data=packed, crc=after.crc, size=after.size, base=after.base)


async def _search_kept(order: SearchOrder, store: Store) -> Hits:
    """Search logs that the store keeps."""
    found = Search(order)
    for log, rank in ranks_of(order.logs):
        offset = 0
        while found.goes_on:
            try:
                chunk = await store.logs.read(log.run_id, rank, offset=offset, limit=CHUNK, ended=False)
            except Absent:
                break
            if not chunk.data:
                break
            found.take(log.run, rank, chunk)
            offset = chunk.next
            await asyncio.sleep(0)  # lets other orders run
    return found.hits()
