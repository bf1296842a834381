"""Snapshots in files."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Retry, TaskState
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.sim.snapshots import Recorded, SnapshotError, from_json, read, to_json
from kit.builders import T0, a_checkpoint, a_node, a_notice, a_quota, a_run, a_strike, a_task, a_use, at


def everything() -> Recorded:
    """A snapshot with something in every field."""
    run = a_run(2, nodes=2, notice=a_notice(beneficiary=TaskId(1)), checkpoint=a_checkpoint())
    return Recorded(
        snapshot=Snapshot(
            now=at(5),
            nodes=(a_node("node-1", leaf="l"), a_node("node-2", mark=NodeMark.DRAINING), a_node("node-3", ready=False)),
            tasks=(
                a_task(1, priority=None, promise=frozenset({"node-2", "node-1"}), retry=Retry(count=2), gpus=3),
                a_task(2, nodes=2, state=TaskState.SUSPENDING, run=run, rotations=(T0, at(1)), avoid=frozenset({"x"})),
            ),
            quotas=(a_quota(limit=None, expires_at=at(hours=1)),),
            uses=(a_use(),),
            strikes=(a_strike(),),
            groups_of={"alice": frozenset({"a", "b"})},
            remaining={TaskId(2): at(9) - T0},
            pause_grace=at(3) - T0,
        ),
        policies=Policies(groups={"training": Policy(weights=MappingProxyType({"alice": 2.0}))}),
        discipline=Discipline.LAS,
    )


def test_a_snapshot_comes_back_as_it_was() -> None:
    assert from_json(to_json(everything())) == everything()


def test_what_is_left_out_has_its_default() -> None:
    text = json.dumps({"hai_snapshot": 1, "snapshot": {"now": "2026-01-05T08:00:00Z", "nodes": [], "tasks": []}})
    assert from_json(text) == Recorded(snapshot=Snapshot(now=T0, nodes=(), tasks=()))


def spoiled(path: str, value: object) -> str:
    """The file with another value in one place."""
    made = json.loads(to_json(everything()))
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place = made
    for step in way:
        place = place[step]
    place[last] = value
    return json.dumps(made)


BAD_PLACES = {
    "unknown field": ("snapshot.tasks.0.colour", 1, "snapshot.tasks[0].colour is 1: it is unknown here"),
    "no time": ("snapshot.now", "soon", "snapshot.now is 'soon': write a time"),
    "no list": ("snapshot.nodes", {}, "snapshot.nodes is {}: write a list"),
    "no object": ("snapshot.tasks.1.run", 5, "snapshot.tasks[1].run is 5: write an object"),
    "no state": ("snapshot.tasks.0.state", "runing", "snapshot.tasks[0].state is 'runing': write queued"),
    "no priority": ("snapshot.quotas.0.priority", 10, "snapshot.quotas[0].priority is 10: write LOW"),
    "no whole number": ("snapshot.tasks.0.nodes", 1.5, "snapshot.tasks[0].nodes is 1.5: write a whole number"),
    "truth is no number": ("snapshot.tasks.0.nodes", True, "snapshot.tasks[0].nodes is True"),
    "nothing": ("snapshot.tasks.0.name", None, "snapshot.tasks[0].name is None: write a text"),
    "no nodes": ("snapshot.tasks.0.nodes", 0, "snapshot.tasks[0].nodes is 0: write 1 or more"),
    "no length": ("snapshot.tasks.0.grace", "2m", "snapshot.tasks[0].grace is '2m': write a length of time in seconds"),
    "no key": ("snapshot.remaining", {"x": 1}, "is 'x': write numbers as keys"),
    "no ranks": ("snapshot.tasks.1.run.ranks", [], "a run that has not ended has ranks"),
    "two of a name": ("snapshot.nodes.0.name", "node-2", "two nodes have one name"),
    "a number out of range": ("policies.default.min_run", 10**6, "slice is 0:30:00, below min_run"),
    "another version": ("hai_snapshot", 7, 'must be an object with "hai_snapshot": 1'),
}


@pytest.mark.parametrize(("path", "value", "message"), BAD_PLACES.values(), ids=BAD_PLACES)
def test_a_bad_value_is_refused_by_its_path(path: str, value: object, message: str) -> None:
    with pytest.raises(SnapshotError) as refused:
        from_json(spoiled(path, value))
    assert message in str(refused.value)


def test_a_field_that_is_missing_is_named() -> None:
    with pytest.raises(SnapshotError, match=r"snapshot\.nodes is None: it must be there"):
        from_json('{"hai_snapshot": 1, "snapshot": {"now": "2026-01-05T08:00:00Z", "tasks": []}}')


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"none\.json: cannot be read"):
        read(str(tmp_path / "none.json"))
    (tmp_path / "text").write_text("hello")
    with pytest.raises(SnapshotError, match=r"text: it is not JSON"):
        read(str(tmp_path / "text"))
    assert Priority.NORMAL.name in to_json(everything())
