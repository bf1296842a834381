"""Sorting runs by themselves: what is the database's own, what is an orphan, and what is done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.marks import LostPast, Mark
from hai_scheduler.core.model.observation import Observation, RankObservation
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.lineage import Superseded
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.origin.belonging import Belonging, Belongings, is_own, key_of
from hai_scheduler.service.origin.orphan_registry import OrphanedRun, read_orphans, write_orphans
from kit.builders import T0, a_run, a_spec, a_task
from kit.stores import ScratchStore

THEIRS = Origin("theirs", 1)


@dataclass
class Cluster:
    """A cluster that shows marks and takes orders; `wrong` is raised instead."""

    exclusive: bool = True
    shown: list[Mark] = field(default_factory=list)
    reads: int = 0
    written: list[Mark] = field(default_factory=list)
    aside: list[RunId] = field(default_factory=list)
    wrong: Exception | None = None

    async def marks(self) -> Sequence[Mark]:
        self.reads += 1
        return self.shown

    async def put_mark(self, mark: Mark) -> None:
        if self.wrong is not None:
            raise self.wrong
        self.written.append(mark)

    async def put_aside(self, run_id: RunId) -> str | None:
        if self.wrong is not None:
            raise self.wrong
        self.aside.append(run_id)
        return "/aside"


class World:
    """A database with its own mark on the cluster, and what sorts runs for it."""

    def __init__(self) -> None:
        self.store, self.cluster = ScratchStore(), Cluster()
        self.belonging = Belonging(cluster=self.cluster)  # type: ignore[arg-type]
        self.own: Origin

    async def open(self) -> World:
        async with self.store.read() as tx:
            mark = await tx.database.mark()
        self.own, self.cluster.shown = mark.origin, [mark]
        return self

    async def task(self, state: TaskState = TaskState.RUNNING, **fields: object) -> Task:
        """Store a task; in a live state with a run of this database."""
        async with self.store.write() as tx:
            made = await tx.tasks.add(a_task(0), a_spec())
            run = replace(a_run(made.id), origin=self.own) if state.live else None
            return await tx.tasks.save(replace(made, state=state, run=run, **fields))

    async def sort(self, *observed: Observation) -> Belongings:
        await self.belonging.look()
        async with self.store.write() as tx:
            return await self.belonging.sort(tx, observed, T0)

    async def orphans(self) -> tuple[OrphanedRun, ...]:
        async with self.store.read() as tx:
            return await read_orphans(tx)

    async def events(self) -> list[HistoryEvent]:
        async with self.store.read() as tx:
            return [event for event in await tx.events.page(after=0, limit=100) if event.kind.startswith("run")]

    async def end(self, run: str) -> None:
        """An admin asks to end an orphaned run."""
        async with self.store.write() as tx:
            known = await read_orphans(tx)
            await write_orphans(tx, [replace(one, ending=one.ending or one.run_id == run) for one in known])


@pytest.fixture
async def world() -> World:
    return await World().open()


def seen(run: str, origin: Origin | None = THEIRS, *, live: bool = True, **fields: object) -> Observation:
    """A run of one rank on node-1 as the cluster shows it."""
    state = RankState.RUNNING if live else RankState.EXITED
    ranks = (RankObservation(rank=0, state=state, exit_code=None if live else 0),)
    known = {"ranks": ranks, "nodes": ("node-1",), "user": "alice", "unfinalized": not live}
    return Observation(run_id=RunId(run), origin=origin, **{**known, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("origin", "stored", "own"),
    [
        (Origin("a", 1), {"1.1": Origin("a", 1)}, True),
        (Origin("a", 2), {"1.1": Origin("a", 1)}, False),
        (Origin("b", 1), {"1.1": Origin("a", 1)}, False),
        (Origin("a", 1), {}, False),
        (Origin("a", 1), {"1.1": None}, False),
        (None, {"1.1": None}, True),
        (None, {"1.1": Origin("a", 1)}, True),
        (None, {}, False),
    ],
    ids=["same", "epoch", "database", "unknown id", "stored without", "both without", "shown without", "neither"],
)
def test_a_run_is_the_databases_own_by_id_and_origin(origin: Origin | None, stored: dict, own: bool) -> None:
    assert is_own(RunId("1.1"), origin, stored) is own


async def test_own_runs_are_ours_and_others_are_orphans(world: World) -> None:
    mine = await world.task()
    known, strange = seen(f"{mine.id}.1", world.own), seen("9.1")
    found = await world.sort(known, strange)
    assert found.ours == {known.run_id: known}
    assert (found.taken, found.kill, found.aside) == (frozenset({RunId("9.1")}), [], [])
    assert found.origin == world.own
    (orphan,) = await world.orphans()
    assert (orphan.run_id, orphan.user, orphan.nodes, orphan.live) == ("9.1", "alice", ("node-1",), True)


async def test_two_runs_of_one_id_are_told_apart_by_their_origin(world: World) -> None:
    mine = await world.task()
    known, strange = seen(f"{mine.id}.1", world.own), seen(f"{mine.id}.1")
    found = await world.sort(known, strange)
    assert found.ours == {known.run_id: known}
    assert found.taken == {strange.run_id}


async def test_an_orphan_is_announced_once_and_told_of_when_it_has_ended(world: World) -> None:
    world.cluster.exclusive = False
    for _ in range(2):
        await world.sort(seen("9.1"))
    await world.sort(seen("9.1", live=False))
    await world.sort(seen("9.1", live=False))
    kinds = [(event.kind, event.data["run"], event.data["live"]) for event in await world.events()]
    assert kinds == [("run.orphaned", "9.1", True), ("run.orphan_ended", "9.1", False)]
    (orphan,) = await world.orphans()
    assert (orphan.live, orphan.nodes) == (False, ()), "what has ended holds no node"


async def test_an_orphan_that_is_not_shown_any_more_has_ended(world: World) -> None:
    await world.sort(seen("9.1"))
    await world.sort()
    assert [event.kind for event in await world.events()] == ["run.orphaned", "run.orphan_ended"]
    assert await world.orphans() == ()


async def test_nodes_of_ranks_that_have_ended_are_free(world: World) -> None:
    ranks = (RankObservation(rank=0, state=RankState.EXITED), RankObservation(rank=1, state=RankState.RUNNING))
    await world.sort(seen("9.1", ranks=ranks, nodes=("node-1", "node-2")))
    (orphan,) = await world.orphans()
    assert orphan.nodes == ("node-2",)


@pytest.mark.parametrize(
    ("exclusive", "origin", "fields", "aside"),
    [
        (True, "theirs", {}, True),
        (True, None, {}, True),
        (False, "theirs", {}, False),
        (False, None, {}, False),
        (False, "own", {}, True),
        (False, "theirs", {"killed": True, "ranks": (), "unfinalized": True}, True),
        (False, "theirs", {"killed": True, "ranks": (), "unfinalized": False}, False),
        (False, "theirs", {"killed": True}, False),
    ],
    ids=[
        "the cluster is ours alone",
        "ours alone, no origin",
        "another platform may read it",
        "of an unknown platform",
        "an older epoch of ours",
        "killed before its launch",
        "killed, and a launch may still come",
        "killed after its launch",
    ],
)
async def test_an_ended_orphan_is_put_aside_if_no_other_platform_can_need_it(
    world: World, exclusive: bool, origin: str | None, fields: dict[str, object], aside: bool
) -> None:
    world.cluster.exclusive = exclusive
    origins = {"theirs": THEIRS, "own": replace(world.own, epoch=99), None: None}
    found = await world.sort(seen("9.1", origins[origin], live=False, **fields))
    assert found.aside == ([RunId("9.1")] if aside else [])
    assert [one.run_id for one in await world.orphans()] == ([] if aside else ["9.1"])


async def test_what_an_admin_asked_to_end_is_killed_while_it_lives_and_put_aside_then(world: World) -> None:
    world.cluster.exclusive = False
    await world.sort(seen("9.1"), seen("8.1"))
    await world.end("9.1")
    found = await world.sort(seen("9.1"), seen("8.1"))
    assert (found.kill, found.aside) == ([RunId("9.1")], [])
    found = await world.sort(seen("9.1", live=False), seen("8.1"))
    assert (found.kill, found.aside) == ([], [RunId("9.1")])


async def test_many_ended_orphans_are_one_line_of_history_that_names_fifty(world: World) -> None:
    ended = [seen(f"{number}.1", live=False) for number in range(100, 160)]
    await world.sort(*ended)
    (event,) = await world.events()
    assert (event.kind, event.data["count"], len(event.data["runs"])) == ("runs.aside", 60, 50)
    assert event.data["runs"][0] == {"run": "100.1", "user": "alice", "origin": "theirs-1"}


async def test_they_are_named_again_unless_they_were_put_aside(world: World) -> None:
    ended = seen("9.1", live=False)
    found = await world.sort(ended)
    await world.sort(ended)
    assert len(await world.events()) == 2, "the first transaction may not have been committed"
    assert await world.belonging.put_aside(found.aside) is None
    await world.sort(ended)
    assert len(await world.events()) == 2
    assert world.cluster.aside == [RunId("9.1")]


# -- a task beside an orphan of its own ------------------------------------------------------------------------

#: sentence, state and fields of the task, origin and user of its orphaned run, whether the task is held for it
HOLDS = [
    ("it waits", TaskState.QUEUED, {}, "own", "alice", True),
    ("the run has no origin", TaskState.QUEUED, {}, None, "alice", True),
    ("the user of the run is not known", TaskState.QUEUED, {}, "own", None, True),
    ("the run is another user's", TaskState.QUEUED, {}, "own", "bob", False),
    ("the run is of another database, and of another task", TaskState.QUEUED, {}, "theirs", "alice", False),
    ("its owner holds it", TaskState.QUEUED, {"held": True}, "own", "alice", False),
    ("it is being stopped", TaskState.STOPPING, {}, "own", "alice", False),
    ("it has ended", TaskState.STOPPED, {}, "own", "alice", False),
]


@pytest.mark.parametrize(
    ("state", "fields", "origin", "who", "holds"), [row[1:] for row in HOLDS], ids=[row[0] for row in HOLDS]
)
async def test_a_task_is_held_while_an_orphaned_run_of_it_lives(
    world: World, state: TaskState, fields: dict[str, object], origin: str | None, who: str | None, holds: bool
) -> None:
    task = await world.task(state, **fields)
    before = task.held
    origins = {"theirs": THEIRS, "own": replace(world.own, epoch=99), None: None}
    run = seen(f"{task.id}.5", origins[origin], user=who)
    await world.sort(run)

    async def held() -> bool:
        async with world.store.read() as tx:
            return (await tx.tasks.get(task.id)).held

    assert (await held(), [one.holds_task for one in await world.orphans()]) == (before or holds, [holds])
    await world.sort()
    assert await held() is before, "only who was held for it is released"


async def test_a_run_of_a_task_that_is_not_there_holds_none(world: World) -> None:
    await world.sort(seen("77.1", None))
    assert [one.holds_task for one in await world.orphans()] == [False]


# -- remembered results ----------------------------------------------------------------------------------------


async def test_a_run_is_looked_up_once_until_another_replica_may_have_led(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await world.task()
    known, strange = seen(f"{task.id}.1", world.own), seen("9.1")
    async with world.store.read() as tx:
        runs_part = type(tx.runs)
    origins, asked = runs_part.origins, []

    async def counted(part: object, ids: set[TaskId]) -> object:
        asked.append(set(ids))
        return await origins(part, ids)  # type: ignore[arg-type]

    monkeypatch.setattr(runs_part, "origins", counted)
    for _ in range(3):
        await world.sort(known, strange)
    await world.sort(replace(known), strange, new := seen("8.1"))
    assert asked == [{task.id, TaskId(9)}, {TaskId(8)}]
    world.belonging.forget()
    await world.sort(known, strange, new)
    assert asked[2:] == [{task.id, TaskId(9), TaskId(8)}]
    assert world.cluster.reads == 2, "marks are read again as well"


async def test_runs_that_are_gone_are_forgotten(world: World) -> None:
    crowd = [seen(f"{number}.1") for number in range(100, 300)]
    await world.sort(*crowd)
    await world.sort(crowd[0])
    assert set(world.belonging._known) == {key_of(crowd[0])}


# -- what follows ----------------------------------------------------------------------------------------------


def some_belongings(world: World, *taken: str, past: LostPast | None = None) -> Belongings:
    ids = frozenset(RunId(run) for run in taken)
    return Belongings(ours={}, origin=world.own, past=past or LostPast(), kill=(), aside=(), taken=ids)


def test_numbers_of_runs_are_above_the_lost_past_and_those_of_others(world: World) -> None:
    made = some_belongings(world, "7.4", "7.2", "8.9", past=LostPast(first_task=8, above=3))
    assert [made.above(TaskId(task)) for task in (6, 7, 8, 9)] == [3, 4, 9, 0]


def test_a_run_whose_id_is_taken_cannot_start(world: World) -> None:
    pending = a_run(7, 1, nodes=2)
    pending = replace(pending, ranks=tuple(replace(rank, state=RankState.PENDING) for rank in pending.ranks))
    refusal = some_belongings(world, "7.1").refusal(pending, T0)
    assert refusal is not None
    assert (refusal.nodes, refusal.give_up) == (frozenset(), False), "no node is to blame"
    assert "hai admin orphans list" in refusal.message
    assert some_belongings(world, "7.2").refusal(pending, T0) is None
    begun = replace(pending, ranks=(replace(pending.ranks[0], state=RankState.RUNNING), pending.ranks[1]))
    assert some_belongings(world, "7.1").refusal(begun, T0) is None, "a rank is up: the cluster shows the run"
    both = replace(some_belongings(world, "7.1"), ours={RunId("7.1"): seen("7.1")})
    assert both.refusal(pending, T0) is None


async def test_a_mark_is_written_once_and_after_a_failure_everything_is_read_again(world: World) -> None:
    mark = replace(world.cluster.shown[0], steps=5)
    await world.belonging.look()
    assert [await world.belonging.tell(mark) for _ in range(2)] == [None, None]
    assert world.cluster.written == [mark]
    for wrong in (Temporary("no answer"), Superseded("another leads")):
        await world.belonging.look()
        world.cluster.wrong = wrong
        assert await world.belonging.tell(replace(mark, steps=6)) == str(wrong)
        world.cluster.wrong = None
    await world.belonging.look()
    assert world.cluster.reads == 3
    assert await world.belonging.tell(mark) is None
    assert len(world.cluster.written) == 2, "what it wrote before may not be there"


@pytest.mark.parametrize("wrong", [Temporary("no answer"), Absent("gone"), OSError("disk")], ids=str)
async def test_what_cannot_be_put_aside_now_is_told(world: World, wrong: Exception) -> None:
    world.cluster.wrong = wrong
    assert await world.belonging.put_aside([RunId("9.1")]) == str(wrong)
    world.cluster.wrong = None
    assert await world.belonging.put_aside([RunId("9.1"), RunId("8.1")]) is None
    assert world.cluster.aside == ["9.1", "8.1"]
