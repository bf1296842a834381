"""What a pod shows of its rank: one case a way in which pods start, run and end."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from hai_scheduler.adapters.kubernetes.pod_status import has_started
from hai_scheduler.adapters.kubernetes.ranks import keep_end, observe_pod
from hai_scheduler.core.model.leaving import Source
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.core.model.run import Blame, RankState
from kit.builders import at
from unit.adapters.kubernetes.things import a_kube_node, a_pod, around, container, running, stamp, terminated, waiting

EXITED, LOST, PENDING, RUNNING = RankState.EXITED, RankState.LOST, RankState.PENDING, RankState.RUNNING


def seen(*, deleted: float | None = None, node: str | None = "node-1", **status) -> RankObservation:
    return observe_pod(0, a_pod(deleted=deleted, node=node, **status), around())


def words(**facts) -> str:
    """The supervisor's termination message."""
    return json.dumps({"schema": 1, "state": "exited", "exit_code": None, "start_error": None, **facts})


def unschedulable(message: str) -> dict:
    return {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({}, None),
        (waiting("ContainerCreating"), None),
        (waiting("PodInitializing"), None),
        (waiting("ImagePullBackOff", "Back-off pulling x"), "ImagePullBackOff: Back-off pulling x"),
        (waiting("ErrImagePull", "no such host"), "ErrImagePull: no such host"),
        (waiting("CreateContainerConfigError", "no key"), "CreateContainerConfigError: no key"),
        ({"conditions": [unschedulable("Insufficient nvidia.com/gpu")]}, "Unschedulable: Insufficient nvidia.com/gpu"),
    ],
    ids=["new", "creating", "initialising", "back-off", "pull", "config", "unschedulable"],
)
def test_a_rank_that_does_not_run_yet_says_what_is_out_of_the_ordinary(status, message) -> None:
    assert seen(**status) == RankObservation(rank=0, state=PENDING, message=message)


def test_a_rank_runs_when_its_container_does() -> None:
    assert seen(**running()) == RankObservation(rank=0, state=RUNNING)


def test_a_running_rank_whose_pod_an_admin_deletes_says_until_when_it_has() -> None:
    rank = seen(deleted=120, **running())
    assert (rank.state, rank.leaving_by) == (RUNNING, at(120))


def test_a_pod_that_is_deleted_is_not_gone_while_its_container_runs() -> None:
    assert not seen(deleted=-3600, **running()).state.gone


@pytest.mark.parametrize("code", [0, 1, 75, 127, 143])
def test_the_supervisors_word_is_the_status_of_the_command(code: int) -> None:
    rank = seen(**terminated(code, message=words(exit_code=code)))
    assert (rank.state, rank.exit_code, rank.start_error) == (EXITED, code, None)


@pytest.mark.parametrize(
    ("said", "when"), [({"ended_at": "2026-01-05T08:00:07.250000Z"}, 7.25), ({}, 7), ({"ended_at": "soon"}, 7)]
)
def test_the_end_is_when_the_supervisor_says_or_the_kubelet(said: dict[str, str], when: float) -> None:
    status = terminated(1, message=words(exit_code=1, **said))
    status["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = stamp(7)
    expected = datetime.fromisoformat(said["ended_at"]) if when == 7.25 else at(7)
    assert seen(**status).ended_at == expected


def test_all_that_the_supervisor_says_is_observed() -> None:
    said = {
        "exit_code": 143,
        "notified_at": stamp(5),
        "signal": 15,
        "signalled": True,
        "caught": False,
        "done": True,
        "done_all": True,
        "checkpoint": {"at": stamp(6), "step": 7, "path": "/c", "source": "seen"},
        "job_state": "epoch 3",
    }
    rank = seen(**terminated(143, message=words(**said)))
    assert (rank.notified_at, rank.done, rank.done_all, rank.job_state) == (at(5), True, True, "epoch 3")
    assert (rank.checkpoint.at, rank.checkpoint.step, rank.checkpoint.path) == (at(6), 7, "/c")
    assert rank.checkpoint.source is Source.SEEN
    assert (rank.signal, rank.signalled, rank.caught) == (15, True, False)


@pytest.mark.parametrize(("said", "signalled"), [({"signalled": False}, False), ({}, None), ({"signalled": 0}, None)])
def test_a_supervisor_of_an_older_version_does_not_say_whether_its_command_was_told(
    said: dict[str, object], signalled: bool | None
) -> None:
    rank = seen(**terminated(0, message=words(exit_code=0, **said)))
    assert (rank.exit_code, rank.signalled) == (0, signalled)


def test_lines_that_the_log_has_lost_are_told() -> None:
    lost = {"log_lost_lines": 695, "log_lost_why": "no space left on device"}
    rank = seen(**terminated(0, message=words(exit_code=0, **lost)))
    assert rank.message == "695 lines of its log were lost: no space left on device"
    rank = seen(**terminated(137, reason="OOMKilled", message=words(exit_code=137, **lost)))
    assert rank.message.startswith("out of memory")
    assert rank.message.endswith("; 695 lines of its log were lost: no space left on device")
    assert seen(**terminated(0, message=words(exit_code=0, log_lost_lines=0))).message is None


def test_the_supervisors_own_trouble_is_the_platforms() -> None:
    rank = seen(**terminated(125, message=words(start_error="spec.json: field command is missing")))
    assert (rank.state, rank.exit_code, rank.start_error) == (EXITED, None, "spec.json: field command is missing")


def test_a_supervisor_that_was_killed_leaves_the_containers_status() -> None:
    message = json.dumps({"schema": 1, "state": "running", "exit_code": None, "done": True})
    rank = seen(**terminated(137, message=message, reason="Error"))
    assert (rank.exit_code, rank.start_error, rank.done) == (137, None, True)


def test_a_supervisor_that_could_not_start_says_its_last_line() -> None:
    rank = seen(**terminated(1, message="Traceback\n  ...\nSyntaxError: invalid syntax\n", reason="Error"))
    assert rank.exit_code is None
    assert "Python 3.8" in rank.start_error
    assert rank.start_error.endswith("SyntaxError: invalid syntax")


def test_an_image_without_python_is_the_platforms() -> None:
    rank = seen(**terminated(128, reason="StartError", message='exec: "python3": executable file not found in $PATH'))
    assert rank.exit_code is None
    assert "executable file not found" in rank.start_error


@pytest.mark.parametrize("message", [None, words(exit_code=137)], ids=["the supervisor too", "the command alone"])
def test_out_of_memory_is_said_in_words(message) -> None:
    rank = seen(**terminated(137, reason="OOMKilled", message=message))
    assert (rank.state, rank.exit_code, rank.start_error) == (EXITED, 137, None)
    assert rank.message.startswith("out of memory")


@pytest.mark.parametrize("reason", ["OutOfcpu", "OutOfnvidia.com/gpu", "NodeAffinity", "UnexpectedAdmissionError"])
def test_what_the_kubelet_rejects_is_the_platforms(reason: str) -> None:
    rank = seen(phase="Failed", reason=reason, message="Pod was rejected")
    assert (rank.state, rank.exit_code) == (EXITED, None)
    assert rank.start_error == f"its node rejected it: {reason}: Pod was rejected"


@pytest.mark.parametrize("reason", ["Evicted", "NodeLost", "Shutdown", "Terminated", "Preempting"])
@pytest.mark.parametrize("ran", [True, False], ids=["had run", "had not run"])
def test_what_a_node_takes_away_is_lost_and_not_the_users(reason: str, ran: bool) -> None:
    state = terminated(137)["containerStatuses"] if ran else []
    rank = seen(phase="Failed", reason=reason, message="low on resource: memory", containerStatuses=state)
    assert (rank.state, rank.exit_code, rank.start_error) == (LOST, None, None)
    assert rank.message == f"{reason}: low on resource: memory"


def test_an_eviction_for_its_own_limit_is_the_users() -> None:
    status = {**terminated(137), "reason": "Evicted", "message": "Usage of EmptyDir exceeds the limit 16Gi."}
    rank = seen(**status)
    assert (rank.state, rank.exit_code) == (EXITED, 137)
    assert "exceeds the limit" in rank.message


def test_a_container_that_the_kubelet_has_lost_track_of_is_lost() -> None:
    assert seen(**terminated(137, reason="ContainerStatusUnknown")).state is LOST


BLANK = {"exitCode": 0, "startedAt": None, "finishedAt": None}


@pytest.mark.parametrize(
    "status",
    [{"phase": "Running", **container(terminated=BLANK)}, {"phase": "Failed"}, {"phase": "Failed", **waiting("x")}],
    ids=["blank", "left out", "waiting again"],
)
def test_a_deleted_pod_whose_end_is_not_told_is_lost_and_neither_succeeded_nor_rejected(status) -> None:
    assert seen(deleted=60, **status).state is LOST


@pytest.mark.parametrize(
    "status",
    [{"phase": "Running", **container(terminated=BLANK)}, {"phase": "Failed"}, running()],
    ids=["blank", "left out", "running again"],
)
def test_an_end_that_was_seen_stays(status) -> None:
    ended = a_pod(**terminated(3, message=words(exit_code=3)))
    kept = keep_end(ended, a_pod(deleted=60, **status))
    assert observe_pod(0, kept, around()).exit_code == 3
    assert kept["metadata"]["deletionTimestamp"] == stamp(60)


def test_a_state_that_is_no_end_gives_way_to_a_newer_one() -> None:
    assert keep_end(a_pod(), a_pod(**running())) == a_pod(**running())


def test_a_pod_that_succeeded_has_succeeded_whatever_is_left_out() -> None:
    assert (seen(phase="Succeeded").state, seen(phase="Succeeded").exit_code) == (EXITED, 0)


@pytest.mark.parametrize(
    ("name", "words", "blame"),
    [
        ("haienv-init", "the folder of its environment could not be made", Blame.NOBODY),
        ("haienv-fetch", "its environment could not be copied to its node's own disk", Blame.UNKNOWN),
    ],
)
def test_an_init_container_of_environments_that_fails_says_what_it_was_for(name: str, words: str, blame: Blame) -> None:
    failed = {"name": name, "state": {"terminated": {"exitCode": 2, "message": "haienv: init: not yours"}}}
    rank = seen(phase="Failed", initContainerStatuses=[failed], **waiting("PodInitializing"))
    assert (rank.start_error, rank.blame) == (f"{words}: haienv: init: not yours", blame)


def test_an_init_container_that_fails_says_why() -> None:
    failed = {"name": "hai-init", "state": {"terminated": {"exitCode": 2, "message": "cp: no space left"}}}
    rank = seen(phase="Failed", initContainerStatuses=[failed], **waiting("PodInitializing"))
    assert rank.state is EXITED
    assert rank.start_error.endswith("cp: no space left")


def test_a_message_that_a_job_has_spoilt_does_no_harm() -> None:
    for message in ("[1, 2]", '{"schema": 1, "exit_code": "x"}', '{"schema": 1, "checkpoint": 5, "job_state": 7}', "{"):
        rank = seen(**terminated(143, message=message))
        assert (rank.state, rank.checkpoint, rank.job_state) == (EXITED, None, None)


@pytest.mark.parametrize(
    "message",
    [
        "[" * 2000,
        '{"schema": 1, "exit_code": ' + "[" * 1900,
        '{"schema": 1, "start_error": {"a": 1}}',
        '{"schema": 1, "start_error": ["a"], "exit_code": [1]}',
        '{"schema": 1, "exit_code": true}',
        '{"schema": 1, "exit_code": 1' + "0" * 30 + "}",
    ],
    ids=["nested", "nested within", "an object", "lists", "a truth value", "a giant"],
)
def test_an_end_that_a_job_has_spoilt_is_that_of_the_container(message: str) -> None:
    rank = seen(**terminated(143, message=message))
    assert (rank.state, rank.exit_code, rank.start_error) == (EXITED, 143, None)


def test_of_a_spoilt_message_what_can_be_read_is_taken() -> None:
    rank = seen(**terminated(1, message='{"schema": 1, "exit_code": 3, "start_error": {"a": 1}, "done": true}'))
    assert (rank.state, rank.exit_code, rank.start_error, rank.done) == (EXITED, 3, None, True)
    rank = seen(**terminated(1, message='{"schema": 1, "exit_code": [1], "start_error": "no such image"}'))
    assert (rank.exit_code, rank.start_error) == (None, "no such image")


def test_a_rank_on_a_node_that_is_no_longer_there_is_lost() -> None:
    rank = observe_pod(0, a_pod(node="node-7", **running()), around())
    assert (rank.state, rank.message) == (LOST, "node node-7 is no longer in the cluster")


@pytest.mark.parametrize(("now", "state"), [(299, RUNNING), (301, LOST)], ids=["for a moment", "for too long"])
def test_a_rank_on_a_node_that_is_not_ready_is_lost_after_a_while(now: float, state: RankState) -> None:
    away = a_kube_node(ready="Unknown", since=0)
    assert observe_pod(0, a_pod(**running()), around(away, now=now)).state is state


def test_a_rank_that_has_ended_is_not_lost_with_its_node_later() -> None:
    pod = a_pod(node="node-7", **terminated(0, message=words(exit_code=0)))
    assert observe_pod(0, pod, around()).state is EXITED


SHUTDOWN = {"reason": "Shutdown", "message": "Node was shutdown gracefully"}
FULL = {"reason": "Evicted", "message": "Usage of EmptyDir exceeds the limit 16Gi."}


@pytest.mark.parametrize(
    ("deleted", "said", "more", "leaving"),
    [
        (60, {"exit_code": 143}, {}, 60),
        (60, {"exit_code": 0}, {}, None),
        (60, {"exit_code": 0, "notified_at": stamp(5)}, {}, 60),
        (60, {"exit_code": 3}, {}, 60),
        (500, {"exit_code": 3}, {}, None),
        (None, {"exit_code": 143}, {}, None),
        (None, {"exit_code": 143, "notified_at": stamp(5)}, SHUTDOWN, 60),
        (None, {"exit_code": 0, "notified_at": stamp(5)}, SHUTDOWN, 60),
        (None, {"exit_code": 0}, SHUTDOWN, None),
        (None, {"exit_code": 143, "notified_at": stamp(5)}, FULL, None),
    ],
    ids=[
        "deleted",
        "done by itself",
        "told and saved",
        "failed while it was deleted",
        "failed before it was deleted",
        "by itself",
        "shut down",
        "shut down, saved",
        "done before the shutdown",
        "its own limit",
    ],
)
def test_a_rank_that_was_taken_away_and_ended_says_so(deleted, said, more, leaving) -> None:
    status = {**terminated(said["exit_code"], message=words(**said)), **more}
    rank = seen(deleted=deleted, **status)
    assert (rank.state, rank.exit_code) == (EXITED, said["exit_code"])
    assert rank.leaving_by == (None if leaving is None else at(leaving))


HELPED = {"initContainerStatuses": [{"name": "hai-init", "state": {"terminated": {"exitCode": 0}}}]}
ADMISSION = {"reason": "UnexpectedAdmissionError", "message": "Allocate failed due to no healthy devices"}
HAD_RUN = {"containerStatuses": [{"name": "rank", "containerID": "x://1", "state": {"waiting": {"reason": "y"}}}]}
BEFORE = "its pod was ended before the run began"


@pytest.mark.parametrize(
    ("deleted", "status"),
    [
        (60, {"phase": "Failed"}),
        (60, {"phase": "Failed", **ADMISSION}),
        (60, {"phase": "Failed", **ADMISSION, **waiting("ContainerCreating")}),
        (60, {"phase": "Failed", **waiting("PodInitializing")}),
        (None, {"phase": "Failed"}),
        (None, {"phase": "Failed", **waiting("ContainerCreating")}),
        (None, {"phase": "Failed", **ADMISSION, "podIP": "10.0.0.7"}),
        (None, {"phase": "Failed", **ADMISSION, **HELPED}),
        (None, {"phase": "Failed", **ADMISSION, **HAD_RUN}),
        (None, {"phase": "Failed", "reason": "NodeLost", **waiting("ContainerCreating")}),
        (None, {"phase": "Failed", **SHUTDOWN}),
    ],
    ids=[
        "deleted",
        "deleted, rejected",
        "deleted, creating",
        "deleted, initialising",
        "no reason",
        "no reason, creating",
        "had an address",
        "had its files",
        "had a container",
        "node lost",
        "shut down",
    ],
)
def test_what_may_have_run_or_was_deleted_is_lost_and_no_failed_start(deleted, status) -> None:
    rank = seen(deleted=deleted, **status)
    assert (rank.state, rank.start_error) == (LOST, None)
    assert rank.leaving_by == (None if deleted is None else at(deleted))
    assert rank.message


def test_a_supervisor_whose_pod_was_deleted_before_its_run_began_was_evicted() -> None:
    status = terminated(125, message=words(start_error=BEFORE))
    rank = seen(deleted=60, **status)
    assert (rank.state, rank.exit_code, rank.start_error) == (EXITED, None, None)
    assert (rank.leaving_by, rank.message) == (at(60), BEFORE)
    assert seen(**status).start_error == BEFORE


@pytest.mark.parametrize(
    ("status", "blame"),
    [
        ({"phase": "Failed", **ADMISSION}, Blame.NODE),
        (terminated(1, message="SyntaxError: invalid syntax"), Blame.NOBODY),
        (terminated(128, reason="StartError", message='exec: "python3": executable file not found'), Blame.NOBODY),
        (terminated(128, reason="ContainerCannotRun", message="no space left on device"), Blame.NODE),
        (terminated(125, message=words(start_error="/hai/run: no space left")), Blame.NODE),
    ],
    ids=["rejected", "old Python", "no Python", "no room", "the supervisor"],
)
def test_only_what_a_node_may_have_caused_is_held_against_it(status, blame) -> None:
    rank = seen(**status)
    assert rank.start_error
    assert rank.blame is blame


@pytest.mark.parametrize(
    ("after", "state"),
    [
        ({"phase": "Running"}, RUNNING),
        ({"phase": "Running", **waiting("ContainerCreating")}, RUNNING),
        ({"phase": "Failed", **ADMISSION}, LOST),
        ({"phase": "Failed", **waiting("ContainerCreating")}, LOST),
        (terminated(3, message=words(exit_code=3)), EXITED),
    ],
    ids=["left out", "waiting again", "rejected after all", "over", "ended"],
)
@pytest.mark.parametrize("deleted", [None, 60], ids=["there", "deleted"])
def test_a_container_that_was_seen_to_run_has_run_whatever_is_said_later(deleted, after, state) -> None:
    kept = keep_end(a_pod(**running()), a_pod(deleted=deleted, **after))
    rank = observe_pod(0, kept, around())
    assert (rank.state, rank.start_error, has_started(kept)) == (state, None, True)
    again = keep_end(kept, a_pod(deleted=60, phase="Failed"))
    assert observe_pod(0, again, around()).start_error is None


def test_a_rejection_that_was_seen_is_one_when_the_pod_is_deleted_afterwards() -> None:
    kept = keep_end(a_pod(phase="Failed", **ADMISSION), a_pod(deleted=60, phase="Failed"))
    assert kept["status"]["reason"] == ADMISSION["reason"]
