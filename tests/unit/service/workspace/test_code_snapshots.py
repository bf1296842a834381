"""The use cases of snapshots: who may have one, where its task starts, and when it is removed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from hai_scheduler.core.model.code import CodeSnapshot
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.workspace.templates import Unresolvable
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Conflict, Invalid, Unavailable
from hai_scheduler.service.workspace.code_snapshots import CodeSnapshots
from hai_scheduler.service.workspace.snapshot_ref import SnapshotRef
from kit.builders import a_spec, a_task, at
from kit.code_folders import Code
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world

ANN, BOB = Caller(name="ann"), Caller(name="bob")
CODE = Code({"train.py": b"print(1)"})
REF = SnapshotRef(digest=CODE.digest, commit="a" * 40, dirty=True)
DAY = 86_400.0
ORDER = LaunchOrder(
    run_id=RunId("1.1"), task_id=TaskId(1), user="ann", nodes=("n",), command=("true",), cwd="/home/ann",
    env={"A": "1"}, profile="auto", token=Secret("t"), watch=("out", "/scratch/x"),
)  # fmt: skip


class World:
    def __init__(self, root: Path) -> None:
        self.clock = VirtualClock()
        self.store = MemoryStore()
        self.snapshots = SnapshotFolder(root, self.clock)
        self.code = self.use_cases(self.snapshots)

    def use_cases(self, snapshots: SnapshotFolder | None) -> CodeSnapshots:
        return CodeSnapshots(make_world(store=self.store, clock=self.clock, snapshots=snapshots, machine="m"))

    async def send(self, code: Code = CODE, caller: Caller = ANN) -> None:
        stored = await self.code.offer(caller, code.digest, code.packed)
        if not stored.complete:
            receiver = await self.code.receive(caller, code.digest)
            await receiver.take(code.stream(stored.missing))
            assert (await self.code.received(caller, code.digest, receiver)).complete

    async def submit(self, ref: SnapshotRef | None = REF, caller: Caller = ANN, group: str = "training") -> TaskId:
        async with self.code.while_submitting(caller, group, ref) as snapshot, self.store.write() as tx:
            return (await tx.tasks.add(a_task(user=caller.name), a_spec(snapshot=snapshot))).id


def content(tree: str) -> bytes:
    return Path(tree, "train.py").read_bytes()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "snapshots")


async def test_a_task_stores_what_it_was_submitted_with(world: World) -> None:
    await world.send()
    task = await world.submit()
    async with world.store.read() as tx:
        stored = (await tx.tasks.get_spec(task)).snapshot
    assert stored == CodeSnapshot(digest=CODE.digest, files=1, size=8, commit="a" * 40, dirty=True)


async def test_groups_say_whether(world: World) -> None:
    await world.send()
    world.code.policies.current = Policies(
        groups={"strict": Policy(snapshots="required"), "loose": Policy(snapshots="off")}
    )
    assert [world.code.rules(group).mode for group in ("training", "strict", "loose")] == ["offered", "required", "off"]
    await world.submit(None)
    with pytest.raises(Invalid, match="submit with --snapshot"):
        await world.submit(None, group="strict")
    await world.submit(group="strict")
    with pytest.raises(Invalid, match="submit with --no-snapshot"):
        await world.submit(group="loose")


async def test_only_a_complete_snapshot_of_the_same_user_can_be_used(world: World) -> None:
    await world.code.offer(ANN, CODE.digest, CODE.packed)
    with pytest.raises(Conflict, match="not all of it"):
        await world.submit()
    await world.send()
    with pytest.raises(Conflict):
        await world.submit(caller=BOB)


async def test_a_run_starts_in_the_tree_and_writes_elsewhere(world: World) -> None:
    await world.send()
    snapshot = CodeSnapshot(digest=CODE.digest, files=1, size=8)
    spec = a_spec(cwd="/home/ann", snapshot=snapshot)
    order = await world.code.order_with(ORDER, "ann", spec)
    assert content(order.cwd) == b"print(1)"
    assert order.watch == ("/home/ann/out", "/scratch/x")
    assert order.env == {"A": "1"}
    assert await world.code.order_with(ORDER, "ann", a_spec()) == ORDER
    with pytest.raises(Unresolvable, match="is gone"):
        await world.code.order_with(ORDER, "bob", spec)
    with pytest.raises(Unresolvable, match="snapshots_root"):
        await world.use_cases(None).order_with(ORDER, "ann", spec)


async def test_a_snapshot_goes_some_days_after_its_last_task(world: World) -> None:
    world.code.policies.current = Policies(groups={"slow": Policy(keep_snapshots=timedelta(days=3))}, default=SHORT)
    await world.send()
    task = await world.submit()
    for _ in range(20):
        await world.clock.advance(DAY)
        assert await world.code.sweep() == 0
    async with world.store.write() as tx:
        ended = replace(await tx.tasks.get(task), state=TaskState.SUCCEEDED, ended_at=at(9))
        await tx.tasks.save(ended)
    await world.clock.advance(2.9 * DAY)
    assert await world.code.sweep() == 0, "the longest time of all groups counts"
    await world.clock.advance(0.2 * DAY)
    assert await world.code.sweep() == 1
    with pytest.raises(Conflict):
        await world.submit()


SHORT = Policy(keep_snapshots=timedelta(hours=1))


async def test_a_submission_at_the_moment_of_a_removal_keeps_its_snapshot_or_is_refused(world: World) -> None:
    """The sweep and submissions change places at every step: no task is stored without its snapshot."""
    world.code.policies.current = Policies(default=SHORT)
    outcomes = set()
    for number in range(30):
        code = Code({"train.py": f"print({number})".encode()})
        ref = SnapshotRef(digest=code.digest)
        await world.send(code)
        await world.clock.advance(DAY)

        async def submit(wanted: SnapshotRef = ref, late: int = number) -> bool:
            for _ in range(late):
                await asyncio.sleep(0)
            try:
                await world.submit(wanted)
            except Conflict:
                return False
            return True

        stored, removed = await asyncio.gather(submit(), world.code.sweep())
        spec = a_spec(snapshot=CodeSnapshot(digest=code.digest, files=1, size=9))
        if stored:
            assert removed == 0
            await world.code.order_with(ORDER, "ann", spec)
        else:
            assert removed == 1
        outcomes.add(stored)
    assert outcomes, "nothing was tried"


async def test_a_platform_without_a_folder_says_so(world: World) -> None:
    bare = world.use_cases(None)
    assert bare.rules("training").mode == "off"
    with pytest.raises(Unavailable, match="snapshots_root"):
        await bare.offer(ANN, CODE.digest, CODE.packed)
    assert await bare.sweep() == 0


async def test_a_disk_that_is_full_is_said_to_be(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hai_scheduler.adapters.snapshots.folder._write", full)
    with pytest.raises(Unavailable, match="no space left on device"):
        await world.send()
