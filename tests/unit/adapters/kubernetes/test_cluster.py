"""The Kubernetes adapter against an API server that misbehaves as real ones do."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.adapters.kubernetes.names import KILLED
from hai_scheduler.adapters.kubernetes.observation import TOMBSTONES_STAY
from hai_scheduler.adapters.kubernetes.seen_nodes import CLOSED_FOR
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.run import Blame, RankState
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from hai_scheduler.ports.errors import Absent, Temporary
from kit.builders import a_fabric, a_launch
from kit.waiting import until
from unit.adapters.kubernetes.conftest import one, state_is
from unit.adapters.kubernetes.things import running, stamp, terminated, waiting

RUN = RunId("1.1")
GANG = a_launch(nodes=("node-1", "node-2"))
ENDED = json.dumps({"schema": 1, "exit_code": 0})


def watching(server) -> bool:
    return server.count("GET", "/pods") > 1


async def test_a_run_is_a_service_a_secret_and_a_pod_a_rank_owned_by_the_service(server, cluster) -> None:
    await cluster.launch(GANG)
    assert sorted(server.objects["pods"]) == ["hai-1-1-0", "hai-1-1-1"]
    assert list(server.objects["secrets"]) == ["hai-1-1"]
    uid = server.objects["services"]["hai-1-1"]["metadata"]["uid"]
    for thing in (*server.objects["pods"].values(), *server.objects["secrets"].values()):
        assert [owner["uid"] for owner in thing["metadata"]["ownerReferences"]] == [uid]


async def test_what_was_launched_is_observed_at_once(server, cluster) -> None:
    await cluster.launch(GANG)
    assert [rank.state for rank in (await one(cluster)).ranks] == [RankState.PENDING] * 2


async def test_a_launch_that_broke_off_is_completed(server, cluster) -> None:
    server.fail("POST", "/pods", 500, times=50)
    with pytest.raises(Temporary, match="a fault"):
        await cluster.launch(GANG)
    server.faults.clear()
    await cluster.launch(GANG)
    assert len(server.objects["pods"]) == 2


async def test_a_run_that_was_launched_is_never_launched_again_by_a_new_service(server, cluster, opened) -> None:
    await cluster.launch(GANG)
    server.remove("pods", "hai-1-1-1")
    second = opened()
    await second.launch(GANG)
    assert list(server.objects["pods"]) == ["hai-1-1-0"]
    assert (await one(second)).ranks[1].state is RankState.LOST


async def test_launches_by_two_services_make_everything_once(server, cluster, opened) -> None:
    second = opened()
    await asyncio.gather(*(which.launch(GANG) for which in (cluster, second, cluster, second)))
    assert len(server.objects["pods"]) == 2
    for which in (cluster, second):
        assert len((await one(which)).ranks) == 2


async def test_a_record_that_is_being_removed_is_waited_for(server, cluster) -> None:
    await cluster.launch(a_launch())
    service = server.objects["services"]["hai-1-1"]
    server.put("services", {**service, "metadata": {**service["metadata"], "deletionTimestamp": stamp()}})
    with pytest.raises(Temporary, match="still being removed"):
        await cluster.launch(a_launch())


@pytest.mark.parametrize(
    ("status", "message"),
    [(403, 'pods "hai-1-1-0" is forbidden: exceeded quota: gpus'), (422, "spec.containers[0].image: Required value")],
    ids=["quota", "invalid"],
)
async def test_a_pod_that_is_refused_for_good_takes_the_run_down_with_the_reason(
    server, cluster, opened, status, message
) -> None:
    server.fail("POST", "/pods", status, body=message)
    await cluster.launch(GANG)
    for which in (cluster, opened()):
        await until("the run to be ended by the cluster", lambda which=which: self_ended(which))
        shown = await one(which)
        assert shown.unfinalized
        (speaker,) = (rank for rank in shown.ranks if rank.start_error)
        assert message in speaker.start_error
        assert speaker.blame is Blame.NOBODY
    assert not server.objects["pods"]


async def test_a_refusal_is_said_by_a_rank_that_was_refused_not_by_one_that_runs(server, cluster) -> None:
    server.fail("POST", "/pods", 422, body="spec.containers[0].image: Required value")
    await cluster.launch(GANG)
    await until("the run to be ended by the cluster", lambda: self_ended(cluster))
    (made,) = server.made("pods")
    ranks = (await one(cluster)).ranks
    (speaker,) = (rank for rank in ranks if rank.start_error)
    assert f"hai-1-1-{speaker.rank}" != made
    assert "Required value" in speaker.start_error


async def test_a_late_launch_of_a_run_that_a_later_one_has_followed_makes_nothing(server, cluster, opened) -> None:
    await cluster.launch(replace(GANG, run_id=RunId("1.10")))
    for which in (cluster, opened()):
        await which.launch(replace(GANG, run_id=RunId("1.9")))
    assert list(server.objects["services"]) == ["hai-1-10"]
    await cluster.launch(replace(GANG, run_id=RunId("1.11"), task_id=TaskId(1)))
    await cluster.launch(a_launch(11, 2))
    assert sorted(server.objects["services"]) == ["hai-1-10", "hai-1-11", "hai-11-2"]


async def self_ended(cluster) -> bool:
    shown = await cluster.observe()
    return bool(shown) and len(shown[0].ranks) == 2 and all(rank.state.gone for rank in shown[0].ranks)


async def test_a_run_whose_record_is_refused_says_so(server, cluster) -> None:
    server.fail("POST", "/services", 403, body="exceeded quota: services")
    await cluster.launch(GANG)
    shown = await one(cluster)
    assert "exceeded quota" in shown.ranks[0].start_error
    assert [rank.state for rank in shown.ranks] == [RankState.EXITED] * 2
    await cluster.finalize(RUN)
    assert await cluster.observe() == []


@pytest.mark.parametrize(
    "message",
    [
        'pods is forbidden: User "x" cannot create resource "pods" in API group "" in the namespace "runs"',
        'pods "x" is forbidden: unable to create new content in namespace runs because it is being terminated',
        'pods "x" is forbidden: error looking up service account runs/default: serviceaccount "default" not found',
    ],
    ids=["right", "namespace", "account"],
)
async def test_a_refusal_that_may_pass_is_tried_again(server, cluster, message) -> None:
    server.fail("POST", "/pods", 403, body=message)
    with pytest.raises(Temporary):
        await cluster.launch(a_launch())
    await cluster.launch(a_launch())
    assert len(server.objects["pods"]) == 1


async def test_a_busy_server_is_given_the_time_it_asks_for(server, cluster, clock) -> None:
    server.fail("POST", "/pods", 429, headers={"Retry-After": "2"})
    server.fail("POST", "/services", 500, times=2)
    await cluster.launch(a_launch())
    assert 2.0 in clock.slept
    assert len(server.objects["pods"]) == 1


async def test_a_server_that_asks_for_more_time_than_a_tick_has_is_left_alone(server, cluster, clock) -> None:
    await cluster.observe()
    server.fail("POST", "/services", 429, headers={"Retry-After": "60"})
    with pytest.raises(Temporary, match="does not answer"):
        await cluster.launch(a_launch())
    assert 60.0 not in clock.slept


async def test_what_the_cluster_does_not_have_is_said_without_making_a_pod(server, cluster) -> None:
    bad = Mount(kind=MountKind.PVC, source="x", mount_path="/hai/spec")
    cases = {
        1: (a_launch(1, nodes=("node-1", "node-9")), 1, "node-9 is not a node of this cluster"),
        2: (a_launch(2, gpus=((3, 8),)), 0, "node-1 has 8 GPUs, so there is no GPU 8"),
        3: (a_launch(3, mounts=(bad,)), 0, "the mount path /hai/spec is the platform's own"),
        4: (a_launch(4, fabric=a_fabric()), 0, "node-1 has 0 of rdma/hca and not 8, as the fabric of its group asks"),
    }
    for launch, _, _ in cases.values():
        await cluster.launch(launch)
        await cluster.launch(launch)
    assert not server.objects["pods"]
    shown = {run.run_id: run.ranks for run in await cluster.observe()}
    for task, (launch, rank, words) in cases.items():
        assert words in shown[launch.run_id][rank].start_error, task
        assert all(seen.state is RankState.EXITED for seen in shown[launch.run_id])


async def test_a_kill_is_recorded_and_ends_the_pods_soon(server, cluster) -> None:
    await cluster.launch(a_launch())
    server.status("hai-1-1-0", **running())
    await state_is(cluster, RankState.RUNNING)
    await cluster.kill(RUN)
    assert server.objects["pods"]["hai-1-1-0"]["metadata"]["deletionGracePeriodSeconds"] == 15

    async def being_ended() -> bool:
        return (await one(cluster)).ranks[0].leaving_by is None

    await until("the kill to be observed", being_ended)
    assert not (await one(cluster)).unfinalized
    server.status("hai-1-1-0", **terminated(143))
    server.remove("pods", "hai-1-1-0")
    shown = await state_is(cluster, RankState.EXITED)
    assert (shown.ranks[0].exit_code, shown.unfinalized) == (143, True)


async def test_repeated_kills_ask_the_server_once(server, cluster) -> None:
    await cluster.launch(a_launch())
    server.status("hai-1-1-0", **running())
    await state_is(cluster, RankState.RUNNING)
    await cluster.kill(RUN)

    async def told() -> bool:
        return "deletionTimestamp" in cluster._sight.pods.items["hai-1-1-0"]["metadata"]

    await until("the deletion to be observed", told)
    for _ in range(3):
        await cluster.kill(RUN)
    assert server.count("DELETE", "/pods/hai-1-1-0") == 1


@pytest.mark.parametrize("ranks", [2, 9], ids=["few, pod by pod", "many, at once"])
async def test_a_kill_ends_what_runs_and_leaves_what_has_ended_with_its_last_words(server, cluster, ranks) -> None:
    await cluster.launch(a_launch(nodes=("node-1",) * ranks))
    server.status("hai-1-1-0", **terminated(3))
    for rank in range(1, ranks):
        server.status(f"hai-1-1-{rank}", **running())
    await state_is(cluster, RankState.EXITED)
    await state_is(cluster, RankState.RUNNING, ranks - 1)
    await cluster.kill(RUN)
    marks = {name: "deletionTimestamp" in pod["metadata"] for name, pod in server.objects["pods"].items()}
    assert marks == {f"hai-1-1-{rank}": rank > 0 for rank in range(ranks)}


async def test_a_run_that_was_killed_is_not_started_by_a_late_launch_of_another_service(
    server, cluster, opened
) -> None:
    await cluster.launch(a_launch())
    await cluster.kill(RUN)
    second = opened()
    await second.launch(a_launch())
    assert not server.objects["pods"]
    assert (await one(second)).ranks[0].state is RankState.EXITED


async def test_a_run_that_was_killed_before_its_launch_leaves_a_record_that_the_launch_finds(
    server, cluster, opened, clock
) -> None:
    await cluster.kill(RUN)
    made = server.objects["services"]["hai-1-1"]
    assert KILLED in made["metadata"]["annotations"]
    assert "selector" not in made["spec"]
    await cluster.kill(RUN)
    second = opened(stale_after=timedelta(days=1))
    await second.launch(a_launch())
    await second.kill(RUN)
    assert not server.objects["pods"]
    assert not server.objects["secrets"]
    assert server.count("POST", "/services") == 2, "that of the launch was refused"
    shown = await one(second)
    assert (shown.ranks, shown.killed, shown.unfinalized) == ((), True, False)
    with pytest.raises(Absent):
        await second.addresses(RUN)
    clock.ahead = TOMBSTONES_STAY + timedelta(minutes=1)
    assert (await one(second)).unfinalized, "no launch comes as late as that"
    await second.finalize(RUN)
    assert not server.objects["services"]
    assert await second.observe() == []


async def test_the_record_of_a_run_that_was_never_launched_goes_when_the_run_is_forgotten(server, cluster) -> None:
    await cluster.kill(RUN)
    await cluster.forget(RUN)
    assert not server.objects["services"]


async def test_a_launch_that_is_faster_than_the_record_of_the_kill_is_ended(server, cluster, opened) -> None:
    """Another replica makes the run between the look and the record."""
    other = opened()
    await other.launch(a_launch())
    server.fail("PATCH", "/services/hai-1-1", 404)
    await cluster.kill(RUN)
    assert KILLED in server.objects["services"]["hai-1-1"]["metadata"]["annotations"]
    pods = server.objects["pods"].values()
    assert all("deletionTimestamp" in pod["metadata"] for pod in pods)


async def test_a_kill_whose_record_the_server_never_takes_keeps_no_node(server, cluster) -> None:
    server.fail("POST", "/services", 403, times=50)
    await cluster.kill(RUN)
    shown = await one(cluster)
    assert (shown.ranks, shown.killed, shown.unfinalized) == ((), True, True)
    await cluster.finalize(RUN)
    assert await cluster.observe() == []


async def test_a_gang_that_does_not_come_up_is_taken_down_and_the_reason_outlives_the_service(
    server, opened, clock
) -> None:
    first = opened(stale_after=timedelta(hours=1))
    await first.launch(GANG)
    server.status("hai-1-1-0", **running())
    server.status("hai-1-1-1", phase="Pending", **waiting("ImagePullBackOff", "no such image"))
    await state_is(first, RankState.RUNNING)
    clock.ahead = timedelta(minutes=11)

    async def taken_down() -> bool:
        await first.observe()
        left = server.objects["pods"]
        return "deletionTimestamp" in left["hai-1-1-0"]["metadata"] and "hai-1-1-1" not in left

    await until("the run to be taken down", taken_down)
    second = opened()
    assert not (await one(second)).unfinalized
    server.status("hai-1-1-0", **terminated(143))
    server.remove("pods", "hai-1-1-0")
    shown = await state_is(second, RankState.EXITED, rank=0)
    assert shown.ranks[0].start_error is None
    assert "ImagePullBackOff: no such image" in shown.ranks[1].start_error
    assert shown.unfinalized


async def test_a_settled_run_is_gone_with_its_record(server, cluster) -> None:
    await cluster.launch(a_launch())
    server.status("hai-1-1-0", **terminated(0, message=ENDED))
    assert (await state_is(cluster, RankState.EXITED)).unfinalized
    await cluster.finalize(RUN)
    assert not server.objects["services"]
    assert not (await one(cluster)).unfinalized, "the garbage collector has not come yet"
    await cluster.finalize(RUN)
    await cluster.finalize(RunId("9.1"))


async def test_a_live_run_is_not_forgotten(server, cluster) -> None:
    await cluster.launch(a_launch())
    with pytest.raises(Temporary, match="has not ended"):
        await cluster.forget(RUN)
    assert server.objects["pods"]


async def test_addresses_are_known_when_every_rank_is_up(server, cluster) -> None:
    with pytest.raises(Absent):
        await cluster.addresses(RUN)
    await cluster.launch(GANG)
    server.status("hai-1-1-0", **running())
    await state_is(cluster, RankState.RUNNING)
    assert await cluster.addresses(RUN) is None
    server.status("hai-1-1-1", **{**running(), "podIP": "10.0.0.8"})
    await state_is(cluster, RankState.RUNNING, rank=1)
    assert await cluster.addresses(RUN) == ("10.0.0.7", "10.0.0.8")


async def test_while_the_server_is_away_nothing_is_decided(server, cluster, clock) -> None:
    await cluster.launch(a_launch())
    await server.stop()
    clock.ahead = timedelta(seconds=25)
    assert await cluster.observe()
    clock.ahead = timedelta(seconds=60)
    for look in (cluster.observe, cluster.nodes):
        with pytest.raises(Temporary, match=r"nothing was heard .* for more than 30 s \(stale_after\)"):
            await look()
    with pytest.raises(Temporary):
        await cluster.launch(a_launch(2))
    await server.start()

    async def back() -> bool:
        try:
            return bool(await cluster.observe())
        except Temporary:
            return False

    assert await until("the API server to be back", back)
    assert list(server.objects["pods"]) == ["hai-1-1-0"]


PRESSURE = "The node was low on resource: memory. Container rank was using 9Gi, which exceeds its request of 0."
OWN = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."


@pytest.mark.parametrize(("message", "closed"), [(PRESSURE, True), (OWN, False)], ids=["pressure", "its own doing"])
async def test_a_node_whose_kubelet_has_evicted_a_rank_gets_none_until_it_tells_how_it_is(
    server, cluster, clock, message: str, closed: bool
) -> None:
    await cluster.launch(GANG)
    server.status("hai-1-1-0", phase="Failed", reason="Evicted", message=message)
    await state_is(cluster, RankState.LOST if closed else RankState.EXITED)
    first, second = await cluster.nodes()
    assert (first.closed, second.closed) == (closed, False)
    assert ("it has just evicted a rank (Evicted: The node was low" in first.message) is closed
    clock.ahead += CLOSED_FOR
    await until("both to be open", lambda: all_open(cluster))


async def all_open(cluster) -> bool:
    with suppress(Temporary):
        return not any(node.closed for node in await cluster.nodes())
    return False
