"""Logs can be read whatever the API server still has of their run."""

from __future__ import annotations

import json

import pytest

from hai_scheduler.adapters.kubernetes.names import KILLED
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.errors import Absent
from kit.builders import a_launch
from kit.waiting import until
from unit.adapters.kubernetes.conftest import one, state_is
from unit.adapters.kubernetes.things import running, terminated

RUN = RunId("1.1")
GANG = a_launch(nodes=("node-1", "node-2"))
ENDED = json.dumps({"schema": 1, "exit_code": 0})


async def test_a_log_is_final_when_its_rank_has_ended_or_its_run_is_settled(server, cluster) -> None:
    await cluster.launch(a_launch())
    empty = await cluster.read_log(RUN, 0, offset=0, limit=100)
    assert (empty.data, empty.final) == (b"", False)
    await cluster._logs.append(RUN, 0, offset=0, data=b"hello\n", keep=1000)
    assert not (await cluster.read_log(RUN, 0, offset=0, limit=100)).final
    server.status("hai-1-1-0", **terminated(0, message=ENDED))
    await state_is(cluster, RankState.EXITED)
    assert (await cluster.read_log(RUN, 0, offset=0, limit=100)).final
    await cluster.finalize(RUN)
    server.remove("pods", "hai-1-1-0")
    chunk = await cluster.read_log(RUN, 0, offset=0, limit=100)
    assert (chunk.data, chunk.final) == (b"hello\n", True)


@pytest.mark.parametrize("gone", [0, 1])
async def test_a_log_is_read_while_the_garbage_collector_removes_the_pods_of_its_run_one_by_one(
    server, cluster, opened, gone
) -> None:
    await cluster.launch(GANG)
    for rank in (0, 1):
        server.status(f"hai-1-1-{rank}", **terminated(0, message=ENDED))
        await state_is(cluster, RankState.EXITED, rank=rank)
    await cluster.finalize(RUN)
    server.remove("pods", f"hai-1-1-{gone}")
    for which in (cluster, opened()):
        for rank in (0, 1):
            await which._logs.append(RUN, rank, offset=0, data=b"hello\n", keep=1000)

        async def collected(which=which) -> bool:
            return len((await one(which)).ranks) == 1

        await until("a pod to be gone", collected)
        for rank in (0, 1):
            chunk = await which.read_log(RUN, rank, offset=0, limit=100)
            assert (chunk.data, chunk.final) == (b"hello\n", True)
        with pytest.raises(Absent):
            await which.read_log(RUN, 2, offset=0, limit=100)


async def test_an_order_to_end_a_run_that_was_settled_meanwhile_hides_no_log(server, cluster, opened) -> None:
    """It asks the API server when the run's Service has just been removed, so it leaves one of its own."""
    await cluster.launch(GANG)
    server.status("hai-1-1-0", **terminated(0, message=ENDED))
    server.status("hai-1-1-1", **running())
    await state_is(cluster, RankState.RUNNING, rank=1)
    server.remove("services", "hai-1-1")
    await cluster.kill(RUN)
    assert KILLED in server.objects["services"]["hai-1-1"]["metadata"]["annotations"]
    for name in [name for name in server.objects["pods"] if name.startswith("hai-1-1-")]:
        server.remove("pods", name)
    for which in (cluster, opened()):
        await which._logs.append(RUN, 0, offset=0, data=b"hello\n", keep=1000)

        async def ended(which=which) -> bool:
            seen = await one(which)
            return seen.killed and not seen.ranks

        await until("the pods to be gone", ended)
        chunk = await which.read_log(RUN, 0, offset=0, limit=100)
        assert (chunk.data, chunk.final) == (b"hello\n", True)
