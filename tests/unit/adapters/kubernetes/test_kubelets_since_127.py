"""What kubelets since 1.27 show of pods that end before, or without, their containers: every pod gets a last phase.

The statuses are those that pkg/kubelet/status/status_manager.go (TerminatePod) and pkg/kubelet/kubelet_pods.go of
Kubernetes write, the conditions those of "Pod disruption conditions" in its documentation.
"""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes.observation import not_up, observe_run
from hai_scheduler.adapters.kubernetes.pod_status import has_started
from hai_scheduler.adapters.kubernetes.ranks import keep_end, observe_pod
from hai_scheduler.adapters.kubernetes.record import StartError
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.core.model.run import Blame, RankState
from kit.builders import a_launch, at
from kit.waiting import until
from unit.adapters.kubernetes.things import (
    LOST_TRACK,
    a_kube_node,
    a_pod,
    a_sight,
    around,
    container,
    running,
    some_settings,
    stamp,
    terminated,
    unlocated,
    waiting,
)

EXITED, LOST = RankState.EXITED, RankState.LOST
TWO = a_launch(nodes=("node-1", "node-1"))
#: A pod that was deleted while its container was being created, as it is seen last.
NEVER_MADE = {"phase": "Failed", **unlocated()}
#: The same with an init container that has not been made either: nothing is written of what has no trace.
NOT_INITIALIZED = {
    "phase": "Failed",
    "initContainerStatuses": [{"name": "hai-init", "state": {"waiting": {"reason": "PodInitializing"}}}],
    **waiting("PodInitializing"),
}
#: It was deleted while the init container ran.
CUT_SHORT = {
    "phase": "Failed",
    "initContainerStatuses": [{"name": "hai-init", "state": {"terminated": LOST_TRACK}}],
    **waiting("PodInitializing"),
}
NEVER = pytest.mark.parametrize(
    "status",
    [NEVER_MADE, NOT_INITIALIZED, CUT_SHORT],
    ids=["not made", "not initialised", "while it was initialised"],
)


def disrupted(reason: str, message: str) -> dict[str, Any]:
    said = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
    return {"conditions": [{"type": "Initialized", "status": "True"}, said]}


@NEVER
@pytest.mark.parametrize("gone", [False, True], ids=["there", "gone"])
@pytest.mark.parametrize("fact", ["killed", "start-error"])
def test_what_the_platform_ended_before_it_started_has_ended_and_is_not_lost(status, gone, fact) -> None:
    (error,) = StartError(message="no such image", ranks=(1,)).to_annotation().values()
    pods = [a_pod(TWO, rank, deleted=15, **status) for rank in (0, 1)]
    seen = (a_sight(launch=TWO, removed=tuple(pods), **{fact: error}),)
    if not gone:
        seen = (a_sight(*pods, launch=TWO, **{fact: error}),)
    for rank in observe_run(seen[0], around()).ranks:
        assert (rank.state, rank.exit_code, rank.leaving_by) == (EXITED, None, None), rank


@NEVER
@pytest.mark.parametrize("gone", [False, True], ids=["there", "gone"])
def test_what_an_admin_deleted_before_it_started_was_taken_away(status, gone) -> None:
    pod = a_pod(deleted=60, **status)
    run = a_sight(removed=(pod,), launched=stamp()) if gone else a_sight(pod, launched=stamp())
    (rank,) = observe_run(run, around()).ranks
    assert (rank.state, rank.start_error, rank.leaving_by) == (LOST, None, at(60))
    assert not has_started(pod)


def test_a_pod_that_was_deleted_before_its_container_started_says_so() -> None:
    rank = observe_pod(0, a_pod(deleted=60, **NEVER_MADE), around())
    assert rank.message == "its pod was deleted before its container had started"


@pytest.mark.parametrize(
    "evidence",
    [{"containerID": "containerd://1"}, {"started": True}, {"lastState": {"terminated": LOST_TRACK}}],
    ids=["id", "started", "last state"],
)
def test_a_container_that_was_made_and_of_which_no_trace_is_left_is_lost(evidence) -> None:
    status = unlocated()
    status["containerStatuses"][0] |= evidence
    pod = a_pod(deleted=60, phase="Failed", **status)
    rank = observe_pod(0, pod, around())
    assert rank.state is LOST
    assert "had started" not in rank.message
    assert has_started(pod)


@pytest.mark.parametrize("code", [0, 3])
def test_a_known_end_is_kept_when_the_kubelet_forgets_it_while_the_pod_is_deleted(code) -> None:
    """kubernetes/kubernetes#104107: the status 0 of a container turned into 137."""
    message = f'{{"schema": 1, "exit_code": {code}}}'
    kept = keep_end(a_pod(**terminated(code, message=message)), a_pod(deleted=60, **NEVER_MADE))
    assert observe_pod(0, kept, around()).exit_code == code


def test_a_container_that_was_seen_to_run_was_not_deleted_before_it_started() -> None:
    kept = keep_end(a_pod(**running()), a_pod(deleted=60, **NEVER_MADE))
    rank = observe_pod(0, kept, around())
    assert (rank.state, rank.message) == (LOST, "it ended, and Kubernetes does not say how")
    assert has_started(kept)


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"),
        ("EvictionByEvictionAPI", "Eviction API: evicting"),
        ("PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod"),
        ("DeletionByPodGC", "PodGC: node no longer exists"),
    ],
)
@pytest.mark.parametrize("status", [NEVER_MADE, {"phase": "Failed"}, terminated(137)], ids=["new", "bare", "ran"])
def test_who_has_taken_a_pod_away_is_said_in_the_clusters_own_words(reason, message, status) -> None:
    rank = observe_pod(0, a_pod(deleted=60, **{**status, **disrupted(reason, message)}), around())
    assert (rank.state, rank.exit_code, rank.start_error) == (LOST, None, None)
    assert (rank.message, rank.leaving_by) == (f"{reason}: {message}", at(60))


def test_a_disruption_that_is_past_takes_nothing_away() -> None:
    said = {"type": "DisruptionTarget", "status": "False", "reason": "PreemptionByScheduler"}
    rank = observe_pod(0, a_pod(**{**terminated(137), "conditions": [said]}), around())
    assert (rank.state, rank.exit_code) == (EXITED, 137)


def test_an_eviction_by_the_kubelet_says_its_reason_once() -> None:
    low = "The node was low on resource: ephemeral-storage."
    status = {**NEVER_MADE, "reason": "Evicted", "message": low, **disrupted("TerminationByKubelet", low)}
    rank = observe_pod(0, a_pod(**status), around())
    assert (rank.state, rank.message) == (LOST, f"Evicted: {low}")


# -- containers that the cluster adds to pods -------------------------------------------------------------------------

SIDECAR = {"name": "istio-proxy", "state": {"running": {"startedAt": stamp()}}, "started": True}


def beside(status: dict[str, Any], kind: str, added: dict[str, Any]) -> dict[str, Any]:
    return {**status, kind: [added, *status.get(kind, [])]}


@pytest.mark.parametrize("kind", ["initContainerStatuses", "containerStatuses"], ids=["native", "of old"])
def test_a_sidecar_that_runs_on_does_not_keep_a_rank_from_having_ended(kind) -> None:
    status = {**beside(terminated(3, message='{"schema": 1, "exit_code": 3}'), kind, SIDECAR), "phase": "Running"}
    rank = observe_pod(0, a_pod(**status), around())
    assert (rank.state, rank.exit_code) == (EXITED, 3)


def test_a_sidecar_that_cannot_be_had_is_what_the_rank_waits_for() -> None:
    added = {"name": "mesh", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
    pod = a_pod(**beside(waiting("PodInitializing"), "initContainerStatuses", added))
    assert observe_pod(0, pod, around()).message == "ImagePullBackOff: no such image"
    assert not_up(a_sight(pod), at(minutes=3), some_settings()).blame is Blame.UNKNOWN


def test_an_init_container_of_the_clusters_that_fails_is_named_and_no_node_is_to_blame() -> None:
    added = {"name": "mesh", "state": {"terminated": {"exitCode": 1, "message": "iptables: no rights"}}}
    status = {"phase": "Failed", **beside(waiting("PodInitializing"), "initContainerStatuses", added)}
    rank = observe_pod(0, a_pod(**status), around())
    assert (rank.state, rank.blame) == (EXITED, Blame.UNKNOWN)
    assert rank.start_error == "the init container mesh, which the cluster adds to its pod, failed: iptables: no rights"


# -- pods that vanish while no service looks --------------------------------------------------------------------------


@pytest.mark.parametrize("seen", [True, False], ids=["was seen", "was never seen"])
def test_a_pod_that_vanished_from_a_node_that_is_well_was_deleted_and_is_not_held_against_the_node(seen) -> None:
    removed = (a_pod(**running()),) if seen else ()
    (rank,) = observe_run(a_sight(removed=removed, launched=stamp()), around(now=90)).ranks
    assert (rank.state, rank.leaving_by) == (LOST, at(90))


@pytest.mark.parametrize(
    "nodes", [(a_kube_node("node-2"),), (a_kube_node(ready="Unknown"),)], ids=["node gone", "node not ready"]
)
def test_a_pod_that_vanished_with_its_node_is_lost_with_it(nodes) -> None:
    (rank,) = observe_run(a_sight(launched=stamp()), around(*nodes, now=90)).ranks
    assert (rank.state, rank.leaving_by) == (LOST, None)


# -- the whole adapter ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kubelet", ["1.20", "1.27"])
@pytest.mark.parametrize("status", [{}, waiting("ContainerCreating")], ids=["bound", "creating"])
async def test_a_run_that_is_killed_before_it_starts_has_ended(server, cluster, kubelet, status) -> None:
    server.kubelet = kubelet
    await cluster.launch(a_launch())
    server.status("hai-1-1-0", phase="Pending", **status)
    await cluster.kill(a_launch().run_id)

    async def ended() -> tuple[RankObservation, ...]:
        (run,) = await cluster.observe()
        return run.ranks if run.unfinalized and not server.objects["pods"] else ()

    (rank,) = await until("the run to have ended", ended)
    assert (rank.state, rank.exit_code, rank.leaving_by, rank.start_error) == (EXITED, None, None, None)


@pytest.mark.parametrize("kubelet", ["1.20", "1.27"])
async def test_a_gang_whose_last_rank_is_deleted_by_hand_before_it_starts_is_evicted(server, cluster, kubelet) -> None:
    server.kubelet = kubelet
    await cluster.launch(TWO)
    server.status("hai-1-1-0", **running())
    server.status("hai-1-1-1", phase="Pending", **container(waiting={"reason": "ContainerCreating"}))
    server.delete_pod("hai-1-1-1", grace=130)

    async def lost() -> RankObservation | None:
        (run,) = await cluster.observe()
        return run.ranks[1] if run.ranks[1].state.gone else None

    rank = await until("the rank to be lost", lost)
    assert (rank.state, rank.start_error) == (LOST, None)
    assert rank.leaving_by is not None, "the pod was deleted; its node has not lost it"
