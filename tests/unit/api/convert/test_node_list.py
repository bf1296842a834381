"""The list of nodes is what the model says, for each reader, and nodes that have not changed are not written again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from hai_scheduler.api.convert import node_list
from hai_scheduler.api.convert.cluster import node_out
from hai_scheduler.api.convert.node_list import NodeLines
from hai_scheduler.api.wire.cluster import NodeList, NodeOut
from hai_scheduler.core.metrics.use import MeanUse
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.run import Fallback
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.service.insight.node_map import NodeFacts, word_of
from hai_scheduler.service.insight.queries import NodeHolder, NodeView
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from kit.builders import a_node, a_run, a_task, at

ANN, BOB, EVE = (Caller(name=name) for name in ("ann", "bob", "eve"))
ADMIN = Caller(name="root", scopes=frozenset({SCOPE_ADMIN}))


def running(number: int, user: str) -> Task:
    return a_task(number, user=user, name=f"of {user}", state=TaskState.RUNNING, run=a_run(task_id=number))


def facts(name: str, *tasks: Task, seen_at: datetime | None = None, gpus: int = 0, **more: object) -> NodeFacts:
    holders = [
        NodeHolder(task_id=task.id, user=task.user, gpus=(place,) if gpus else ()) for place, task in enumerate(tasks)
    ]
    view = NodeView(node=a_node(name, gpus=gpus), holders=tuple(holders))
    known = {"reason": None, "fallback": None, "since": at(0), "by": None, "use": {}, **more}
    return NodeFacts(
        view=view,
        word=word_of(view),
        tasks={task.id: task for task in tasks},
        seen_at=at(0) if seen_at is None else seen_at,
        **known,  # type: ignore[arg-type]
    )


ANNS, BOBS = running(1, "ann"), running(2, "bob")
NODES = (facts("node-1", ANNS), facts("node-2", ANNS, BOBS, gpus=2), facts("node-3", BOBS), facts("node-4"))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the nodes that are written."""
    names: list[str] = []

    def note(one: NodeFacts, caller: Caller) -> object:
        names.append(one.view.node.name)
        return node_out(one, caller)

    monkeypatch.setattr(node_list, "node_out", note)
    return names


def plain(found: tuple[NodeFacts, ...], caller: Caller) -> bytes:
    return NodeList(items=[node_out(one, caller) for one in found]).model_dump_json().encode()


def test_each_reader_reads_what_the_model_says() -> None:
    lines = NodeLines()
    for caller in (ANN, EVE, ADMIN, BOB, EVE, ANN, ADMIN):
        assert lines.encode(NODES, caller) == plain(NODES, caller)
    assert b"of ann" not in lines.encode(NODES, EVE)
    assert lines.encode((), EVE) == b'{"items":[]}'


def test_when_a_node_was_seen_is_its_last_field() -> None:
    # A field behind it would be the first node's for all of them.
    assert list(NodeOut.model_fields)[-1] == "seen_at"


USE = MeanUse(cpu=1.0, memory=None, gpu_use=50.0, gpu_memory=None, gpu_power=None)


@pytest.mark.parametrize(
    "change",
    [
        (facts("node-1", replace(ANNS, name="another")), *NODES[1:]),
        (facts("node-1", ANNS, since=at(5)), *NODES[1:]),
        (facts("node-1", ANNS, by="root"), *NODES[1:]),
        (facts("node-1", ANNS, reason="An admin has cordoned it."), *NODES[1:]),
        (facts("node-1", ANNS, fallback=Fallback.NO_PORT), *NODES[1:]),
        (facts("node-1", ANNS, use={ANNS.id: USE}), *NODES[1:]),
        (facts("node-1", BOBS), *NODES[1:]),
        (facts("node-1"), *NODES[1:]),
        (replace(NODES[0], tasks={}), *NODES[1:]),
        tuple(replace(one, seen_at=at(60)) for one in NODES),
        tuple(replace(one, seen_at=None) for one in NODES),
        (replace(NODES[0], view=NODES[0].view._replace(node=a_node("node-1", mark=NodeMark.DRAINING))), *NODES[1:]),
        NODES[1:],
    ],
    ids=[
        "name",
        "since",
        "by",
        "reason",
        "network",
        "use",
        "task",
        "free",
        "unknown",
        "later",
        "never seen",
        "drained",
        "gone",
    ],
)
def test_what_changes_is_written_for_all_who_may_see_it(change: tuple[NodeFacts, ...]) -> None:
    lines = NodeLines()
    for found in (NODES, change, NODES):
        for caller in (EVE, ANN, ADMIN):
            assert lines.encode(found, caller) == plain(found, caller)


def test_a_node_that_is_as_it_was_is_not_written_again(written: list[str]) -> None:
    lines = NodeLines()
    lines.encode(NODES, EVE)
    written.clear()
    later = (*(replace(one, seen_at=at(60)) for one in NODES[:3]), replace(NODES[3], seen_at=at(60), since=at(60)))
    lines.encode(later, Caller(name="another"))
    # The first one tells when they all were seen.
    assert written == ["node-1", "node-4"]
