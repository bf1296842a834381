"""Runs of which something cannot be read: jobs and others have a hand in what the API server shows."""

from __future__ import annotations

from hai_scheduler.adapters.kubernetes.names import NODES, START_ERROR
from hai_scheduler.adapters.kubernetes.ranks import observe_pod
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import RankState
from kit.builders import a_launch
from kit.waiting import until
from unit.adapters.kubernetes.conftest import one, state_is
from unit.adapters.kubernetes.things import running, terminated

RUN = RunId("1.1")


async def test_a_run_that_cannot_be_read_keeps_no_other_from_being_seen_and_can_be_ended(
    server, cluster, monkeypatch, caplog
) -> None:
    def unreadable(rank, pod, around):
        if pod["metadata"]["name"].startswith("hai-1-1-"):
            raise TypeError("a word that nobody has thought of")
        return observe_pod(rank, pod, around)

    monkeypatch.setattr("hai_scheduler.adapters.kubernetes.observation.observe_pod", unreadable)
    await cluster.launch(a_launch(nodes=("node-1", "node-2", "node-1")))
    await cluster.launch(a_launch(2))
    server.status("hai-2-1-0", **running())
    server.status("hai-1-1-0", **running())
    server.status("hai-1-1-1", **terminated(3))

    async def states() -> list[str]:
        shown = {run.run_id: [rank.state.value for rank in run.ranks] for run in await cluster.observe()}
        return [*shown[RunId("2.1")], *shown[RUN]]

    async def told() -> bool:
        return await states() == ["running", "running", "exited", "pending"]

    await until("the states of both runs", told)
    shown = {run.run_id: run for run in await cluster.observe()}[RUN]
    assert shown.ranks[1].exit_code == 3
    assert "TypeError" in shown.ranks[0].message
    assert len([line for line in caplog.records if "cannot be read" in line.message]) == 1
    await cluster.kill(RUN)
    assert "deletionTimestamp" in server.objects["pods"]["hai-1-1-0"]["metadata"]
    assert "hai-1-1-2" not in server.objects["pods"], "its container had not started"
    server.remove("pods", "hai-1-1-0")

    async def ended() -> bool:
        return {run.run_id: run for run in await cluster.observe()}[RUN].unfinalized

    await until("the run to be settled", ended)
    await cluster.forget(RUN)
    assert "hai-1-1" not in server.objects["services"]


async def test_a_damaged_record_does_no_harm(server, cluster) -> None:
    await cluster.launch(a_launch())
    server.status("hai-1-1-0", **running())
    await state_is(cluster, RankState.RUNNING)
    made = server.objects["services"]["hai-1-1"]
    spoilt = dict.fromkeys((NODES, START_ERROR), "[" * 100000)
    annotations = {**made["metadata"]["annotations"], **spoilt}
    server.put("services", {**made, "metadata": {**made["metadata"], "annotations": annotations}})

    async def seen() -> bool:
        record = cluster._sight.runs()[RUN].record
        return record.nodes == ()

    await until("the spoilt record to be observed", seen)
    assert (await one(cluster)).ranks[0].state is RankState.RUNNING
