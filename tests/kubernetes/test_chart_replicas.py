"""Two schedulers of the chart on a real cluster: one leads, and when it is gone the other does."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hai_client.wire.schema import TaskRequest
from kit.kubernetes.chart_ways import ANY_NODE, chart_ways, needs_policies
from kit.kubernetes.connections import faults
from kit.kubernetes.release import (
    LOOK,
    Platform,
    allowed,
    assert_computes,
    chart_wait_for,
    installed,
    needs_images,
    state_of,
    tool,
)

pytestmark = needs_images

#: Seconds within which the other replica has to lead (docs/operations.md).
TAKEOVER = 15.0
#: Seconds after which a follower that would take the lease by turns has done so.
LEASE = 5.0
#: A loop that is not ready says so as well, with another status.
ASK = """
import urllib.error, urllib.request
try:
    print(urllib.request.urlopen("http://127.0.0.1:8083/health/ready", timeout=5).read().decode())
except urllib.error.HTTPError as error:
    print(error.read().decode())
"""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    more = {
        **ANY_NODE,
        "scheduler": {**ANY_NODE["scheduler"], "separate": True, "replicas": 2},
        "tasks": {"networkPolicy": {"spot": False, "internet": True}},
        # As on a cluster without names and volumes.
        "serviceAddresses": "environment",
        "postgresql": {"storage": {"enabled": False}},
    }
    with installed(tmp_path_factory.mktemp("replicas"), more) as made:
        yield made


def leaders(platform: Platform) -> dict[str, str]:
    """The leader that each replica names, by the name of the replica's pod; '' for a replica that does not answer.

    Only the loops lead, and no pod and no Service reaches them: each is asked within its pod.
    """
    said: dict[str, str] = {}
    for pod in platform.objects("pods", platform.namespace, "app.kubernetes.io/component=scheduler"):
        name = str(pod["metadata"]["name"])
        text = tool("kubectl", "-n", platform.namespace, "exec", name, "--", "python", "-c", ASK, check=False)
        said[name] = str(json.loads(text)["leader"]) if text else ""
    return said


def the_leader(platform: Platform) -> str:
    """The pod that leads, once both replicas agree about it."""

    def found() -> str | None:
        said = leaders(platform)
        return next(name for name, leader in said.items() if leader == "this") if agreed(said) else None

    return str(chart_wait_for("one leader and one follower", found))


def agreed(said: dict[str, str]) -> bool:
    return sorted(said.values()) == ["another", "this"]


def containers(platform: Platform, task: str) -> list[Any]:
    """Facts of the containers that a restart, a new pod or a lost container would change."""
    pods = platform.objects("pods", platform.work, f"hai.jupyter.org/task={task}")
    return [(pod["metadata"]["uid"], pod["status"]["containerStatuses"]) for pod in pods]


def test_of_two_replicas_one_leads_and_stays_it(platform: Platform) -> None:
    leader = the_leader(platform)
    end = time.monotonic() + 2 * LEASE
    looks = 0
    while time.monotonic() < end or looks < 5:
        assert leaders(platform)[leader] == "this"
        looks += 1
    assert agreed(leaders(platform))


@needs_policies
def test_each_pod_reaches_whom_the_policies_say_and_nobody_else(platform: Platform) -> None:
    given = {"separate": True, "spot": False, "internet": True, "metrics": False}
    with chart_ways(platform, **given) as (sources, targets):
        found = faults(sources, targets)
    assert not found, "\n".join(found)


def test_when_the_leader_is_gone_the_other_leads_and_running_tasks_do_not_notice(platform: Platform) -> None:
    client = platform.client("ann")
    task = client.submit(TaskRequest(command=("sleep", "3600"), nodes=1, name="long", cwd="/tmp"))
    chart_wait_for("the start", lambda: state_of(client, task) == "running")
    leader = the_leader(platform)
    (other,) = leaders(platform).keys() - {leader}
    before = containers(platform, task.id)
    assert before

    start = time.monotonic()
    tool("kubectl", "-n", platform.namespace, "delete", "pod", leader, "--grace-period=0", "--force", "--wait=false")
    chart_wait_for("the takeover", lambda: leaders(platform).get(other) == "this")
    assert time.monotonic() - start < TAKEOVER

    short = client.submit(TaskRequest(command=("true",), nodes=1, name="short", cwd="/tmp"))
    chart_wait_for("the end", lambda: state_of(client, short) in ("succeeded", "failed", "stopped"))
    assert state_of(client, short) == "succeeded", client.task(short.id)
    assert the_leader(platform) == other
    assert containers(platform, task.id) == before
    assert state_of(client, task) == "running"
    assert len(client.runs(task.id)) == 1
    client.stop(task.id)
    chart_wait_for("the stop", lambda: state_of(client, task) == "stopped")


def test_what_answers_may_look_and_change_nothing(platform: Platform) -> None:
    account = f"{platform.namespace}:api"
    for resource in ("pods", "services"):
        assert allowed(account, resource, platform.work) == set(LOOK)
    for resource in ("secrets", "configmaps", "persistentvolumeclaims", "pods/exec", "events"):
        assert allowed(account, resource, platform.work) == set()
    for resource in ("pods", "services", "secrets"):
        assert allowed(account, resource, platform.namespace) == set()
    assert allowed(account, "nodes", "") == set(LOOK)


def test_what_schedules_may_not_do_what_is_the_hubs(platform: Platform) -> None:
    account = f"{platform.namespace}:scheduler"
    assert allowed(account, "pods", platform.work) == {*LOOK, "create", "delete", "deletecollection"}
    assert allowed(account, "secrets", platform.work) == {"create"}
    for resource in ("persistentvolumeclaims", "events", "pods/exec"):
        assert allowed(account, resource, platform.work) == set()
    for resource in ("pods", "services", "secrets"):
        assert allowed(f"{platform.namespace}:hub", resource, platform.namespace) == set()
        assert allowed(account, resource, platform.namespace) == set()


def test_when_what_answers_is_killed_the_other_goes_on_and_scheduling_does_not_notice(platform: Platform) -> None:
    client, leader = platform.client("ann"), the_leader(platform)
    before = restarts(platform)
    (first, *_) = platform.objects("pods", platform.namespace, "app.kubernetes.io/component=api")
    name = first["metadata"]["name"]
    tool("kubectl", "-n", platform.namespace, "delete", "pod", name, "--grace-period=0", "--force", "--wait=false")
    task = client.submit(TaskRequest(command=("sh", "-c", "echo heard"), nodes=1, name="meanwhile", cwd="/tmp"))
    chart_wait_for("the end", lambda: state_of(client, task) in ("succeeded", "failed", "stopped"))
    assert state_of(client, task) == "succeeded", client.task(task.id)
    assert_computes(client, task, "heard")
    assert the_leader(platform) == leader
    assert restarts(platform) == before


def restarts(platform: Platform) -> dict[str, int]:
    """How often the container of each loop has been started again, by its pod."""
    found = platform.objects("pods", platform.namespace, "app.kubernetes.io/component=scheduler")
    return {
        pod["metadata"]["name"]: sum(one["restartCount"] for one in pod["status"]["containerStatuses"]) for pod in found
    }
