"""A pod's status in the terms of Kubernetes, whatever kubelets leave out of it."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes import pod_status
from hai_scheduler.adapters.kubernetes.manifests import INIT_CONTAINER
from hai_scheduler.adapters.kubernetes.pod_status import (
    BLOCKED,
    has_ended,
    has_started,
    is_unmade,
    line,
    waiting_for,
    waits,
)
from kit.builders import at
from unit.adapters.kubernetes.things import LOST_TRACK, a_pod, container, running, terminated, unlocated, waiting


@pytest.mark.parametrize(
    ("status", "started"),
    [(running(), True), (terminated(0), True), (waiting("ContainerCreating"), False), (container("other"), False)],
    ids=["running", "ended", "waiting", "another container"],
)
def test_a_supervisor_is_up_once_its_container_has_started(status, started) -> None:
    assert has_started(a_pod(**status)) is started


Status = dict[str, Any]
BARE: Status = {"metadata": {}, "spec": {}}


def init(name: str = INIT_CONTAINER, **state: Any) -> Status:
    """`initContainerStatuses` of one container."""
    return {"initContainerStatuses": [{"name": name, "state": state}]}


def helper(reason: str, name: str = INIT_CONTAINER) -> Status:
    return init(name, waiting={"reason": reason, "message": f"{name}: {reason}"})


@pytest.mark.parametrize(
    "status", [None, {}, {"containerStatuses": None, "initContainerStatuses": None, "conditions": None}]
)
def test_a_pod_of_which_a_kubelet_has_said_nothing_yet_only_starts(status: Status | None) -> None:
    pod = {**BARE, "status": status}
    assert pod_status.container_of(pod) == {}
    assert pod_status.container_state(pod) == {}
    assert [fact(pod) for fact in (has_started, has_ended, is_unmade, pod_status.blocked)] == [False] * 4
    assert (waiting_for(pod), waits(pod), pod_status.failed_helper(pod), pod_status.unscheduled(pod)) == (
        "",
        {},
        {},
        {},
    )


def test_a_container_is_found_by_its_name_among_helpers_too() -> None:
    pod = a_pod(**{**container("mesh", running={}), **helper("PodInitializing")})
    assert pod_status.container_of(pod) == {}
    assert "waiting" in pod_status.container_state(pod, INIT_CONTAINER)
    assert "running" in pod_status.container_state(pod, "mesh")


@pytest.mark.parametrize(
    ("status", "started", "ended"),
    [
        (waiting("ContainerCreating"), False, False),
        (running(), True, False),
        (terminated(0), True, True),
        (terminated(1), True, True),
        (unlocated(), False, True),
        ({"phase": "Failed"}, False, True),
        ({"phase": "Succeeded"}, False, True),
        ({"phase": "Unknown"}, False, False),
        ({"phase": "Failed", **waiting("ContainerCreating")}, False, True),
    ],
)
def test_whether_a_rank_was_up_and_is_over(status: Status, started: bool, ended: bool) -> None:
    pod = a_pod(**status)
    assert (has_started(pod), has_ended(pod)) == (started, ended)


@pytest.mark.parametrize(
    ("more", "state", "unmade"),
    [
        ({}, {}, True),
        ({"containerID": "containerd://7"}, {}, False),
        ({"started": True}, {}, False),
        ({"lastState": {"running": {}}}, {}, False),
        ({"lastState": {}}, {}, True),
        ({}, {"startedAt": "2026-01-05T08:00:00Z"}, False),
        ({}, {"reason": "Error"}, False),
    ],
)
def test_a_container_was_never_made_only_where_nothing_shows_that_it_was(
    more: Status, state: Status, unmade: bool
) -> None:
    ended = {"name": "rank", "state": {"terminated": {**LOST_TRACK, **state}}, **more}
    assert is_unmade(a_pod(phase="Failed", containerStatuses=[ended])) is unmade


def test_when_a_deleted_pod_is_ended_is_read_with_its_zone() -> None:
    assert pod_status.deleted_at(a_pod(deleted=60)) == at(60)
    assert pod_status.deleted_at(a_pod()) is None


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [("Ready", "False", True), ("Ready", "True", False), ("PodScheduled", "False", False)],
)
def test_a_condition_counts_with_its_value(kind: str, value: str, found: bool) -> None:
    status = {"conditions": [{"type": "Ready", "status": "False", "reason": "x"}]}
    assert bool(pod_status.condition(status, kind, value)) is found


@pytest.mark.parametrize("reason", sorted(BLOCKED))
def test_what_keeps_a_container_from_being_created_is_said(reason: str) -> None:
    pod = a_pod(**waiting(reason, "first\nlast\n"))
    assert waiting_for(pod) == f"{reason}: last"
    assert pod_status.blocked(pod)
    assert waiting_for(a_pod(**waiting(reason))) == reason


@pytest.mark.parametrize("reason", ["ContainerCreating", "PodInitializing", "CrashLoopBackOff"])
def test_what_passes_by_itself_is_not_said(reason: str) -> None:
    pod = a_pod(**waiting(reason))
    assert (waiting_for(pod), pod_status.blocked(pod)) == ("", False)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({**waiting("ErrImagePull"), **helper("ImagePullBackOff")}, "ImagePullBackOff"),
        ({**waiting("PodInitializing"), **helper("ImagePullBackOff", "mesh")}, "ImagePullBackOff"),
        ({**waiting("ErrImagePull"), **helper("ImagePullBackOff", "mesh")}, "ErrImagePull"),
        (helper("PodInitializing"), None),
    ],
    ids=["the platform's helper first", "an added one", "the rank before an added one", "nothing"],
)
def test_the_platforms_own_containers_are_named_before_added_ones(status: Status, reason: str | None) -> None:
    assert waits(a_pod(**status)).get("reason") == reason


def test_no_pod_waits_for_nothing() -> None:
    assert waits(None) == {}


def test_what_kube_scheduler_says_comes_before_what_the_kubelet_says() -> None:
    nowhere = {"type": "PodScheduled", "status": "False", "message": "0/2 nodes: Insufficient cpu"}
    assert waiting_for(a_pod(**waiting("ErrImagePull"), conditions=[nowhere])) == (
        "Unschedulable: 0/2 nodes: Insufficient cpu"
    )
    assert waiting_for(a_pod(conditions=[{**nowhere, "reason": "SchedulerError"}])).startswith("SchedulerError: ")


def test_the_first_helper_that_failed_is_found_and_one_that_ended_well_is_not() -> None:
    statuses = [
        {"name": "first", "state": {"terminated": {"exitCode": 0}}},
        {"name": "second", "state": {"terminated": {"exitCode": 2}}},
        {"name": "third", "state": {"terminated": {"exitCode": 3}}},
        {"name": "fourth", "state": None},
    ]
    assert pod_status.failed_helper(a_pod(initContainerStatuses=statuses))["name"] == "second"
    assert pod_status.failed_helper(a_pod(initContainerStatuses=statuses[:1])) == {}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (None, ""),
        ("", ""),
        (" \n\t\n", ""),
        ("Traceback:\n  File x\n\nModuleNotFoundError: torch \n \n", "ModuleNotFoundError: torch"),
        ("a\r\nb\r\n", "b"),
        ("x" * 600, "x" * 500),
    ],
)
def test_of_a_message_the_last_line_is_shown(text: str | None, shown: str) -> None:
    assert line(text) == shown
