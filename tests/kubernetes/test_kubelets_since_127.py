"""How kubelets of today end pods: what the stand-ins of them show, and what the adapter makes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from contract.test_cluster import observed, ranks_when
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.core.model.run import Blame, RankState
from hai_scheduler.ports.cluster import Cluster
from kit.kubernetes.place import Place
from kit.kubernetes.simulated_nodes import Thing
from kit.kubernetes.stand_in_harness import SILENT, StandInHarness

POD = "hai-1-1-0"
LOW = "The node was low on resource: ephemeral-storage."
TAINTED = "DeletionByTaintManager: Taint manager: deleting due to NoExecute taint"


@pytest.fixture
async def harness(place: Place) -> AsyncIterator[StandInHarness]:
    harness = StandInHarness(place)
    await harness.start()
    yield harness
    await harness.close()


async def up(harness: StandInHarness, cluster: Cluster, *, starts: bool) -> None:
    """A run of one rank, which runs or waits for its image."""
    launch = harness.launch(1, harness.waits())
    await cluster.launch(launch if starts else harness.held(launch))
    await ranks_when(harness, cluster, "1.1", RankState.RUNNING if starts else RankState.PENDING)

    async def shown() -> bool:
        return bool((await harness.pod(POD)).get("status", {}).get("containerStatuses"))

    await harness.settle(shown)


async def gone(harness: StandInHarness, cluster: Cluster) -> RankObservation:
    """The rank's end, which must be the same before and after its pod has vanished."""
    (before,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED, RankState.LOST)

    async def vanished() -> bool:
        return await harness.vanished(RunId("1.1"))

    await harness.settle(vanished)
    (after,) = (await observed(cluster, "1.1")).ranks
    assert (after.state, after.exit_code, after.start_error) == (before.state, before.exit_code, before.start_error)
    return after


def container(pod: Thing) -> Thing:
    return dict(pod["status"]["containerStatuses"][0]["state"])


@pytest.mark.parametrize(("starts", "code"), [(True, 143), (False, 137)], ids=["runs", "waits"])
async def test_a_pod_that_is_deleted_gets_its_last_phase_before_it_vanishes(harness, cluster, starts, code) -> None:
    """This is what makes the stand-in one of kubelets since 1.27: those of 1.20 remove a pod that has not started."""
    await up(harness, cluster, starts=starts)
    before = (await harness.pod(POD))["metadata"]["resourceVersion"]
    await cluster.kill(RunId("1.1"))
    seen = await harness.history(POD, since=before)
    told = [pod for pod in seen if pod["metadata"].get("deletionTimestamp")]
    assert told[0]["status"]["phase"] == ("Running" if starts else "Pending")
    last = told[-1]
    assert last["status"]["phase"] == "Failed"
    ended = container(last)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (code, "Error" if starts else "ContainerStatusUnknown")
    assert bool(ended["finishedAt"]) is starts


async def test_a_rank_that_ends_by_itself_keeps_its_status_when_its_pod_is_deleted(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.prints("x", status=3)))
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    await harness.taint_away(POD)
    rank = await gone(harness, cluster)
    assert (rank.state, rank.exit_code) == (RankState.EXITED, 3)


async def test_a_taint_that_takes_a_running_rank_away_is_not_the_ranks_doing(harness, cluster) -> None:
    await up(harness, cluster, starts=True)
    await harness.taint_away(POD)
    rank = await gone(harness, cluster)
    assert (rank.state, rank.exit_code, rank.start_error) == (RankState.EXITED, 143, None)
    assert rank.leaving_by is not None, "the pod was deleted"


async def test_a_taint_that_takes_a_rank_away_before_it_starts_is_said_in_the_clusters_own_words(
    harness, cluster
) -> None:
    await up(harness, cluster, starts=False)
    await harness.taint_away(POD)
    rank = await gone(harness, cluster)
    assert (rank.state, rank.start_error) == (RankState.LOST, None)
    assert rank.leaving_by is not None, "the pod was deleted; its node has not lost it"
    assert rank.message == TAINTED


async def test_a_taint_that_kills_a_rank_without_a_last_word_says_who_has_taken_it_away(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, SILENT))
    await ranks_when(harness, cluster, "1.1", RankState.RUNNING)
    await harness.taint_away(POD)
    rank = await gone(harness, cluster)
    assert (rank.state, rank.exit_code, rank.message) == (RankState.LOST, None, TAINTED)
    assert rank.leaving_by is not None, "the pod was deleted; its node has not lost it"


async def test_a_pod_that_an_admin_deletes_before_it_starts_was_taken_away(harness, cluster) -> None:
    await up(harness, cluster, starts=False)
    await harness.delete(POD)
    rank = await gone(harness, cluster)
    assert (rank.state, rank.start_error) == (RankState.LOST, None)
    assert rank.message == "its pod was deleted before its container had started"
    assert rank.leaving_by is not None, "the pod was deleted; its node has not lost it"


@pytest.mark.parametrize("starts", [True, False], ids=["runs", "waits"])
async def test_an_eviction_by_the_node_says_why_and_can_be_ended_and_forgotten(harness, cluster, starts) -> None:
    await up(harness, cluster, starts=starts)
    harness.kubelets.evict(POD, LOW)
    (rank,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED, RankState.LOST)
    assert (rank.message, rank.start_error) == (f"Evicted: {LOW}", None)
    if starts:
        assert (rank.state, rank.exit_code) == (RankState.EXITED, 143)
        assert rank.leaving_by is not None, "its node has taken it away"
    else:
        assert rank.state is RankState.LOST
    assert "deletionTimestamp" not in (await harness.pod(POD))["metadata"], "a pod that was evicted stays"
    await cluster.kill(RunId("1.1"))
    await cluster.forget(RunId("1.1"))

    async def vanished() -> bool:
        return await harness.vanished(RunId("1.1"))

    await harness.settle(vanished)
    assert await observed(cluster, "1.1") is None


async def test_the_rest_of_a_gang_of_which_one_waits_can_be_killed_and_no_rank_is_lost(harness, cluster) -> None:
    """One rank runs, the other's container is not made yet: both have ended, each in its own way."""
    harness.kubelets.hold(harness.node("node-2"))
    await cluster.launch(harness.launch(1, harness.waits(), "node-1", "node-2"))

    async def half() -> bool:
        states = [rank.state for rank in (await observed(cluster, "1.1")).ranks]
        return states == [RankState.RUNNING, RankState.PENDING]

    await harness.settle(half)
    await cluster.kill(RunId("1.1"))
    ranks = await ranks_when(harness, cluster, "1.1", RankState.EXITED, RankState.LOST)
    assert [(rank.state, rank.exit_code) for rank in ranks] == [(RankState.EXITED, 143), (RankState.EXITED, None)]
    assert not [rank for rank in ranks if rank.start_error or rank.leaving_by]


async def test_a_rank_that_does_not_start_in_time_is_taken_down_and_the_others_are_not_blamed(harness) -> None:
    """The platform deletes the pods of the gang itself: what the kubelet then writes is no loss of a node."""
    cluster = await harness.open_with(start_timeout=timedelta(seconds=2))
    harness.kubelets.hold(harness.node("node-2"))
    await cluster.launch(harness.launch(1, harness.waits(), "node-1", "node-2"))
    first, second = await ranks_when(harness, cluster, "1.1", RankState.EXITED, RankState.LOST)
    assert (first.state, first.start_error) == (RankState.EXITED, None)
    assert (second.state, second.blame) == (RankState.EXITED, Blame.NODE)
    assert "rank 1 on" in second.start_error
    assert "was not up after 2 s" in second.start_error
