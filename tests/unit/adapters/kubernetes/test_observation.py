"""Runs as they are observed: the record and the pods together, and gangs that do not come up."""

from __future__ import annotations

import json

import pytest

from hai_scheduler.adapters.kubernetes.observation import not_up, observe_run
from hai_scheduler.adapters.kubernetes.record import RunObjects, StartError, runs_seen
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.core.model.run import Blame, RankState
from kit.builders import a_launch, at
from unit.adapters.kubernetes.things import (
    a_kube_node,
    a_pod,
    a_service,
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

TWO = a_launch(nodes=("node-1", "node-1"))
BACK_OFF = waiting("ImagePullBackOff", "no such image")


def pods(*statuses: dict) -> list[dict]:
    return [a_pod(TWO, rank, **status) for rank, status in enumerate(statuses)]


def states(run: RunObjects) -> list[RankState]:
    return [rank.state for rank in observe_run(run, around()).ranks]


def start_error(*ranks: int) -> dict[str, str]:
    (text,) = StartError(message="no such image", ranks=ranks).to_annotation().values()
    return {"start-error": text}


def test_ranks_that_were_never_created_are_left_out() -> None:
    assert [rank.rank for rank in observe_run(a_sight(pods({})[0], launch=TWO), around()).ranks] == [0]


def test_a_pod_that_was_removed_from_a_run_that_was_launched_is_lost_and_never_created_again() -> None:
    run = a_sight(*pods(running())[:1], launch=TWO, launched=stamp())
    assert states(run) == [RankState.RUNNING, RankState.LOST]


def test_a_pod_that_was_seen_to_end_before_it_was_removed_is_as_it_ended() -> None:
    removed = (a_pod(TWO, 1, deleted=0, **terminated(143)),)
    run = a_sight(*pods(running()), launch=TWO, removed=removed, launched=stamp(), killed=stamp())
    ranks = observe_run(run, around()).ranks
    assert [(rank.state, rank.exit_code) for rank in ranks] == [(RankState.RUNNING, None), (RankState.EXITED, 143)]


def test_a_run_that_was_killed_has_ended_when_its_pods_are_gone() -> None:
    run = a_sight(launch=TWO, killed=stamp())
    shown = observe_run(run, around())
    assert [rank.state for rank in shown.ranks] == [RankState.EXITED, RankState.EXITED]
    assert shown.unfinalized


def test_a_pod_that_the_platform_itself_deletes_is_not_taken_away() -> None:
    run = a_sight(a_pod(deleted=15, **running()), launched=stamp(), killed=stamp())
    assert observe_run(run, around()).ranks[0].leaving_by is None


def test_of_a_run_that_was_killed_it_is_enough_that_a_pod_has_ended() -> None:
    blank = {"phase": "Running", **container(terminated={"exitCode": 0})}
    for killed, state in (({"killed": stamp()}, RankState.EXITED), ({}, RankState.LOST)):
        (rank,) = observe_run(a_sight(a_pod(deleted=15, **blank), launched=stamp(), **killed), around()).ranks
        assert (rank.state, rank.exit_code) == (state, None)


def test_a_pod_that_an_admin_deletes_is_taken_away() -> None:
    run = a_sight(a_pod(deleted=130, **running()), launched=stamp())
    assert observe_run(run, around()).ranks[0].leaving_by == at(130)


def test_a_run_is_unsettled_from_its_end_until_its_record_is_removed() -> None:
    pod = a_pod(**terminated(0))
    assert observe_run(a_sight(pod, launched=stamp()), around()).unfinalized
    assert not observe_run(a_sight(a_pod(**running()), launched=stamp()), around()).unfinalized
    (orphan,) = runs_seen([], [pod], []).values()
    assert not observe_run(orphan, around()).unfinalized


def test_a_record_without_pods_is_unsettled_so_that_it_is_cleared_away() -> None:
    shown = observe_run(a_sight(), around())
    assert (shown.ranks, shown.unfinalized) == ((), True)


def test_a_run_that_could_not_be_started_says_why_for_the_ranks_to_blame_alone() -> None:
    run = a_sight(launch=TWO, **start_error(1))
    first, second = observe_run(run, around()).ranks
    assert (first.state, first.start_error, first.message) == (RankState.EXITED, None, "no such image")
    assert (second.state, second.start_error) == (RankState.EXITED, "no such image")


@pytest.mark.parametrize("blamed", [0, 1], ids=["the rank is to blame", "another one is"])
def test_what_a_run_that_was_taken_down_shows_is_not_what_kubelets_write_of_its_end_or_leave_out(blamed: int) -> None:
    """Another process, or the same one after a restart, may see a last phase that this one has not seen."""
    last = a_pod(TWO, deleted=60, phase="Failed", **unlocated())
    before = a_pod(TWO, deleted=60, **waiting("ErrImagePull"))
    runs = (
        a_sight(last, launch=TWO, **start_error(blamed)),
        a_sight(removed=(last,), launch=TWO, **start_error(blamed)),
        a_sight(removed=(before,), launch=TWO, **start_error(blamed)),
        a_sight(launch=TWO, **start_error(blamed)),
    )
    shown = [observe_run(run, around()).ranks[0] for run in runs]
    assert shown == [shown[0]] * len(runs)
    assert shown[0].message == "no such image"


def test_where_no_rank_is_to_blame_the_first_says_why() -> None:
    first, second = observe_run(a_sight(launch=TWO, **start_error()), around()).ranks
    assert (first.start_error, second.start_error) == ("no such image", None)
    assert first.blame is Blame.NOBODY


@pytest.mark.parametrize("blame", list(Blame), ids=str)
def test_whose_fault_it_was_is_recorded(blame: Blame) -> None:
    error = StartError(message="no", ranks=(1,), blame=blame)
    assert StartError.from_annotations(error.to_annotation()) == error
    (key,) = error.to_annotation()
    (older,) = ({key: json.dumps({"message": "no", "ranks": [1]})},)
    assert StartError.from_annotations(older).blame is Blame.NODE


def test_a_pod_that_an_admin_has_deleted_and_that_is_gone_was_taken_away() -> None:
    removed = (a_pod(deleted=60, **waiting("ContainerCreating")),)
    (rank,) = observe_run(a_sight(removed=removed, launched=stamp()), around()).ranks
    assert (rank.state, rank.leaving_by) == (RankState.LOST, at(60))


def test_a_run_whose_record_an_admin_deletes_is_taken_away_from_its_user() -> None:
    (orphan,) = runs_seen([], [a_pod(deleted=60, **terminated(143))], []).values()
    assert observe_run(orphan, around()).ranks[0].leaving_by == at(60)


def test_a_run_that_is_taken_down_has_not_ended_while_a_pod_of_it_runs() -> None:
    run = a_sight(*pods(running(), BACK_OFF), launch=TWO, **start_error(1))
    first, second = observe_run(run, around()).ranks
    assert first == RankObservation(rank=0, state=RankState.RUNNING, message="no such image")
    assert second == RankObservation(rank=1, state=RankState.PENDING, message="no such image")


def test_a_damaged_record_does_no_harm() -> None:
    service = a_service(**{"start-error": "{", "nodes": "x"})
    (run,) = runs_seen([service], [a_pod(**running())], []).values()
    assert states(run) == [RankState.RUNNING]


SETTINGS = some_settings()


@pytest.mark.parametrize(
    ("statuses", "minutes", "blamed", "why"),
    [
        ([running(), BACK_OFF], 1, None, ""),
        ([running(), BACK_OFF], 3, (1,), "rank 1 on node-1 was not up after 120 s: ImagePullBackOff: no such image"),
        ([running(), {}], 9, None, ""),
        ([running(), {}], 11, (1,), "rank 1 on node-1 was not up after 600 s: its pod was not started"),
        ([{}, {}], 11, (0, 1), "rank 0 on node-1 (and 1 more) was not up after 600 s: its pod was not started"),
        ([running(), running()], 600, None, ""),
        ([terminated(1), running()], 600, None, ""),
        ([running()], 11, (1,), "rank 1 on node-1 was not up after 600 s: its pod could not be created"),
    ],
    ids=["pulling", "pull fails", "slow", "too slow", "all slow", "up", "one has ended", "one was never created"],
)
def test_a_gang_that_does_not_come_up_is_given_up(statuses, minutes, blamed, why) -> None:
    error = not_up(a_sight(*pods(*statuses), launch=TWO), at(minutes=minutes), SETTINGS)
    assert (error.ranks, error.message) == (blamed, why) if blamed else error is None


CONFIG = waiting("CreateContainerConfigError", 'secret "x" not found')
NO_CLAIM = {"type": "PodScheduled", "status": "False", "message": 'persistentvolumeclaim "data" not found'}
NO_ROOM = {"type": "PodScheduled", "status": "False", "message": "1 Insufficient memory."}
TAINTED = {"type": "PodScheduled", "status": "False", "message": "1 node(s) had untolerated taint {burn-in: }"}
APART = a_launch(nodes=("node-1", "node-2"))


@pytest.mark.parametrize(
    ("statuses", "ranks", "blame"),
    [
        ([BACK_OFF, BACK_OFF], (0, 1), Blame.UNKNOWN),
        ([running(), BACK_OFF], (1,), Blame.NODE),
        ([BACK_OFF], (0,), Blame.UNKNOWN),
        ([waiting("InvalidImageName"), BACK_OFF], (1,), Blame.UNKNOWN),
        ([waiting("InvalidImageName")] * 2, (0, 1), Blame.NOBODY),
        ([running(), CONFIG], (1,), Blame.NOBODY),
        ([{"conditions": [NO_CLAIM]}] * 2, (0, 1), Blame.NOBODY),
        ([running(), {"conditions": [NO_ROOM]}], (1,), Blame.NOBODY),
        ([{"conditions": [NO_ROOM]}, {"conditions": [TAINTED]}], (1,), Blame.UNKNOWN),
        ([{}, {"conditions": [NO_ROOM]}], (0,), Blame.NODE),
        ([running()], (1,), Blame.NOBODY),
        ([{}], (0,), Blame.NODE),
        ([waiting("CreateContainerError"), CONFIG], (0,), Blame.NODE),
    ],
    ids=[
        "image nowhere",
        "image elsewhere",
        "image and another not made",
        "wrong name of one",
        "wrong name",
        "secret",
        "claim",
        "no room",
        "no room and a taint",
        "no room and slow",
        "not made",
        "slow and another not made",
        "runtime and secret",
    ],
)
def test_a_gang_that_is_given_up_is_held_against_those_nodes_alone_that_may_have_caused_it(
    statuses, ranks, blame
) -> None:
    made = [
        a_pod(APART, rank, node=None if "conditions" in status else "node-1", **status)
        for rank, status in enumerate(statuses)
    ]
    error = not_up(a_sight(*made, launch=APART), at(minutes=11), SETTINGS)
    assert (error.ranks, error.blame) == (ranks, blame)


def unplaced(message: str, since: float = 2, reason: str = "Unschedulable", **more: object) -> dict:
    said = {"reason": reason, "message": message, "lastTransitionTime": stamp(since)}
    return {"conditions": [{"type": "PodScheduled", "status": "False", **said}], **more}


#: sentence, what kube-scheduler says of rank 1, after how many seconds; blame and whether there was no room, or None
PLACES = [
    ("not yet", unplaced("1 Insufficient cpu."), 26, None),
    ("no room", unplaced("1 Insufficient cpu."), 28, (Blame.NOBODY, True)),
    ("not for long", unplaced("1 Insufficient cpu.", since=100), 120, None),
    ("too many pods", unplaced("1 Too many pods."), 28, (Blame.NOBODY, True)),
    ("a taint", unplaced("1 node(s) had untolerated taint {burn-in: }."), 28, (Blame.UNKNOWN, False)),
    ("it makes room", unplaced("1 Insufficient cpu.", nominatedNodeName="node-2"), 500, None),
    ("it could make none", unplaced("1 Insufficient cpu.", nominatedNodeName="node-2"), 601, (Blame.NOBODY, True)),
    ("a volume to come", unplaced("pod has unbound immediate PersistentVolumeClaims"), 500, None),
    ("a gate of others", unplaced("", reason="SchedulingGated"), 500, None),
    ("a time that cannot be read", unplaced("1 Insufficient cpu.") | {"conditions": [NO_ROOM]}, 500, None),
]


@pytest.mark.parametrize(("status", "seconds", "found"), [row[1:] for row in PLACES], ids=[row[0] for row in PLACES])
def test_f5_a_gang_does_not_hold_its_other_nodes_while_one_has_no_place_for_it(status, seconds, found) -> None:
    made = [a_pod(APART, **running()), a_pod(APART, 1, node=None, **status)]
    error = not_up(a_sight(*made, launch=APART), at(seconds), SETTINGS)
    assert (None if error is None else (error.blame, error.crowded)) == found
    if error is not None:
        assert error.ranks == (1,)
        assert StartError.from_annotations(error.to_annotation()) == error
        run = a_sight(a_pod(APART, deleted=0, **terminated(143)), launch=APART, **start_error_of(error))
        first, second = observe_run(run, around()).ranks
        assert (first.start_error, second.start_error, second.crowded) == (None, error.message, error.crowded)


def start_error_of(error: StartError) -> dict[str, str]:
    (text,) = error.to_annotation().values()
    return {"start-error": text}


@pytest.mark.parametrize(
    ("gpus", "found"), [(8, (Blame.NOBODY, True)), (4, (Blame.UNKNOWN, False))], ids=["others have them", "it has none"]
)
def test_f5_what_a_node_does_not_have_at_all_is_no_want_of_room(gpus, found) -> None:
    """The rank asks for 8 GPUs. Else a request that no node can meet would be tried without end."""
    made = [a_pod(APART, **running()), a_pod(APART, 1, node=None, **unplaced("1 Insufficient nvidia.com/gpu."))]
    nodes = {"node-2": a_kube_node("node-2", gpus=gpus)}
    error = not_up(a_sight(*made, launch=APART), at(30), SETTINGS, nodes=nodes)
    assert (error.blame, error.crowded) == found


def test_f5_the_message_says_who_has_what_the_rank_asks_for() -> None:
    made = [a_pod(APART, **running()), a_pod(APART, 1, node=None, **unplaced("0/2 nodes: 1 Insufficient cpu."))]
    error = not_up(a_sight(*made, launch=APART), at(30), SETTINGS)
    assert error.message == (
        "rank 1 on node-2 was not up after 25 s: Unschedulable: 0/2 nodes: 1 Insufficient cpu; "
        "other pods have what it asks for"
    )


@pytest.mark.parametrize("status", [{}, waiting("ContainerCreating"), BACK_OFF], ids=["new", "creating", "pulling"])
def test_a_gang_of_which_an_admin_deletes_a_pod_is_not_given_up_for_that(status) -> None:
    pod = a_pod(APART, 1, deleted=60, **status)
    assert not_up(a_sight(a_pod(APART, **running()), pod, launch=APART), at(hours=1), SETTINGS) is None


@pytest.mark.parametrize("fact", [{"killed": stamp()}, start_error(1)], ids=["killed", "given up before"])
def test_a_gang_is_given_up_once(fact) -> None:
    assert not_up(a_sight(*pods({}, {}), launch=TWO, **fact), at(hours=1), SETTINGS) is None
