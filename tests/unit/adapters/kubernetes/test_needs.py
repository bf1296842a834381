"""The rights that the service asks for are those that its requests use: no test of this folder uses another one."""

from __future__ import annotations

from contextlib import suppress
from operator import not_ as is_empty

from hai_scheduler.adapters.kubernetes.preflight import NEEDS, NEEDS_OF_A_READER, Need
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.errors import Absent
from kit.builders import a_launch
from kit.waiting import until
from unit.adapters.kubernetes.conftest import beyond, state_is
from unit.adapters.kubernetes.things import running

RUN, LARGE = RunId("1.1"), RunId("2.1")


def unused(used: set[tuple[str, str, str]], needs: tuple[Need, ...]) -> set[tuple[str, str]]:
    """The verbs of the needs that no request has used."""
    wanted = {(need.resource, verb, need.name) for need in needs for verb in need.verbs}
    return {
        (kind, verb)
        for kind, verb, name in wanted
        if not any((kind, verb) == one[:2] and name in ("", one[2]) for one in used)
    }


async def test_the_loop_uses_every_right_that_it_asks_for(server, cluster, opened) -> None:
    for epoch in (1, 2):
        await cluster.put_mark(Mark(database="d", epoch=epoch, steps=1, task=1, number=1))
    await cluster.launch(a_launch(nodes=("node-1", "node-2")))
    # One that did not see the first launch, as after a restart.
    await opened().launch(a_launch(nodes=("node-1", "node-2")))
    server.status("hai-1-1-0", **running())
    await state_is(cluster, RankState.RUNNING)
    await cluster.kill(RUN)
    for name in list(server.objects["pods"]):
        server.remove("pods", name)
    await cluster.launch(a_launch(2, nodes=("node-1", "node-2") * 20))
    await cluster.kill(LARGE)
    await cluster.finalize(RUN)
    await until("every right to be used", lambda: unused(server.used, NEEDS), met=is_empty)


async def test_the_api_uses_every_right_of_a_reader_and_no_other(server, opened) -> None:
    reader = opened()
    await reader.nodes()
    await reader.observe()
    with suppress(Absent):
        await reader.addresses(RUN)
    await until("every right to be used", lambda: unused(server.used, NEEDS_OF_A_READER), met=is_empty)
    assert beyond(server.used, NEEDS_OF_A_READER) == set()
