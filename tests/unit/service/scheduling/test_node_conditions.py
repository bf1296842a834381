"""Since when nodes are as they are, and what readers of the feed are told of it."""

from __future__ import annotations

from dataclasses import replace

from hai_scheduler.core.model.node import NodeCondition, NodeMark
from hai_scheduler.service.scheduling.node_conditions import changes_of
from kit.builders import a_node, at, some_nodes
from unit.service.service_world import ADMIN, Service


def test_the_first_nodes_of_a_platform_are_no_news() -> None:
    found = changes_of({}, some_nodes(2), at(1))
    assert [one.node for one in found.put] == ["node-1", "node-2"]
    assert (found.gone, found.told) == ([], {})


def test_a_node_that_stays_as_it_is_changes_nothing() -> None:
    node = a_node(message="other words")
    found = changes_of({"node-1": NodeCondition.of(node, at(0))}, [replace(node, message="words")], at(9))
    assert (found.put, found.gone, found.told) == ([], [], {})


def test_each_change_is_noted_and_those_of_the_cluster_are_told() -> None:
    known = {name: NodeCondition.of(a_node(name), at(0), by="root") for name in ("a", "b", "c", "d")}
    away, marked = a_node("a", ready=False), a_node("b", mark=NodeMark.CORDONED)
    closed, new = a_node("c", closed=True), a_node("e")
    found = changes_of(known, [away, marked, closed, new], at(5))
    assert list(found.put) == [NodeCondition.of(node, at(5)) for node in (away, marked, closed, new)]
    assert found.gone == ["d"]
    assert found.told == {"a": away, "c": closed, "e": new, "d": None}


async def test_ticks_keep_the_time_of_a_change_and_who_has_marked() -> None:
    service = await Service(nodes=2).open()
    begin = service.clock.now()
    await service.step(30)
    await service.platform.administration.mark_node(ADMIN, "node-1", NodeMark.CORDONED)
    marked = service.clock.now()
    await service.step(30)
    async with service.store.read() as tx:
        conditions = await tx.nodes.conditions()
    one, two = conditions["node-1"], conditions["node-2"]
    assert (one.mark, one.since, one.by) == (NodeMark.CORDONED, marked, "root")
    assert (two.mark, two.since, two.by) == (NodeMark.NONE, begin, None)
    assert await service.events("node.condition") == []
    service.cluster.faults.lose_node("node-2")
    await service.step(1)
    (event,) = await service.events("node.condition")
    assert (event.actor, event.data["node"], event.data["ready"]) == ("scheduler", "node-2", False)
    service.cluster.faults.remove_node("node-2")
    await service.step(1)
    assert (await service.events("node.condition"))[-1].data == {"node": "node-2", "there": False}
    async with service.store.read() as tx:
        assert set(await tx.nodes.conditions()) == {"node-1"}
