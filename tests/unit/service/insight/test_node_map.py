"""The state of a node in a word, and why it takes no new runs."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.service.insight.node_map import reason_of, word_of
from hai_scheduler.service.insight.queries import NodeHolder, NodeView
from hai_scheduler.service.shared.errors import NotFound
from kit.builders import a_node
from unit.service.service_world import ADMIN, Service, user

WHOLE = NodeHolder(task_id=TaskId(1), user="ann", gpus=())
HALF = NodeHolder(task_id=TaskId(1), user="ann", gpus=(0,))


@pytest.mark.parametrize(
    ("node", "holders", "word", "reason"),
    [
        (a_node(), (), "free", None),
        (a_node(), (WHOLE,), "held", None),
        (a_node(gpus=2), (HALF,), "shared", None),
        (a_node(ready=False, message="gone. "), (WHOLE,), "down", "The cluster cannot reach it: gone."),
        (a_node(closed=True), (), "closed", "The cluster takes no new runs on it."),
        (a_node(closed=True), (WHOLE,), "held", "The cluster takes no new runs on it."),
        (a_node(mark=NodeMark.CORDONED), (WHOLE,), "cordoned", "An admin has cordoned it."),
        (a_node(mark=NodeMark.DRAINING), (), "draining", "An admin drains it: its runs are told to leave."),
        (
            a_node(closed=True, leaving=True, message="its taint says so"),
            (WHOLE,),
            "draining",
            "The cluster takes no new runs on it: its taint says so. Its runs are told to leave.",
        ),
        (
            a_node(room=5, crowd="dcgm, ns ops"),
            (),
            "crowded",
            "Pods from outside of HAI (dcgm, ns ops) leave room for runs on 5 of its 8 GPUs.",
        ),
        (a_node(room=0), (), "crowded", "Pods from outside of HAI leave room for no run."),
        (a_node(room=0, gpus=0), (), "crowded", "Pods from outside of HAI leave room for no run."),
        (a_node(room=0), (WHOLE,), "held", "Pods from outside of HAI leave room for no run."),
        (
            a_node(mark=NodeMark.QUARANTINED),
            (),
            "quarantined",
            "Runs of several tasks failed on it, so the scheduler starts none there.",
        ),
        (
            a_node(orphan=RunId("4.1"), ready=True),
            (),
            "orphaned",
            "Run 4.1 holds it and belongs to no task: an admin can end that run.",
        ),
    ],
)
def test_a_node_has_one_word_and_its_reasons(
    node: Node, holders: tuple[NodeHolder, ...], word: str, reason: str | None
) -> None:
    assert word_of(NodeView(node=node, holders=holders)) == word
    assert reason_of(node, None) == reason


def test_the_admin_is_named_and_all_reasons_are() -> None:
    node = a_node(mark=NodeMark.CORDONED, ready=False)
    assert reason_of(node, "root") == "The cluster cannot reach it. Admin root has cordoned it."


async def test_what_runs_on_a_node_is_told_with_its_task() -> None:
    service = await Service(nodes=2).open()
    task = await service.submit("runs", "ann")
    await service.step(1)
    held, free = sorted(await service.platform.insight.node_map.look(user("bob")), key=lambda one: not one.tasks)
    assert [one.id for one in held.tasks.values()] == [task]
    assert (held.word, free.word, free.tasks) == ("held", "free", {})
    assert held.seen_at == service.platform.world.latest_plan.last_tick
    assert held.since is not None
    with pytest.raises(NotFound):
        await service.platform.insight.node_map.node(ADMIN, "nosuch")


async def test_an_older_condition_says_no_time_for_what_is_new() -> None:
    service = await Service(nodes=1).open()
    async with service.store.write() as tx:
        await tx.nodes.put_mark("node-1", NodeMark.CORDONED)
    found = await service.platform.insight.node_map.node(ADMIN, "node-1")
    assert (found.word, found.since, found.by) == ("cordoned", None, None)
