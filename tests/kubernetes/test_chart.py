"""The chart on a real cluster: installed, used, upgraded under a running task, and asked what its accounts may do.

HAI_TEST_CHART_VALUES names a values file with the images, and whatever else this cluster needs
(`serviceAddresses: environment` where it has no DNS, `postgresql.storage.enabled: false` where it has no volumes).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from hai_client.wire.schema import TaskRequest
from kit import pod_security
from kit.kubernetes.chart_ways import ANY_NODE, METRICS, chart_ways, needs_policies, service_monitors
from kit.kubernetes.connections import faults
from kit.kubernetes.release import (
    LOOK,
    Platform,
    allowed,
    assert_computes,
    chart_wait_for,
    installed,
    needs_images,
    start_server,
    state_of,
    tool,
)

pytestmark = needs_images


#: As `getent` prints them. Ann is in a second group.
ACCOUNTS = {
    "passwd": "ann:x:20017:20017::/home/ann:/bin/sh\nbob:x:20018:20018::/home/bob:/bin/sh\n",
    "group": "ann:x:20017:\nbob:x:20018:\ncv:x:3100:ann\n",
}


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    values = {**ANY_NODE, **METRICS, "identity": {"source": "file", "file": {"configMap": "accounts"}}}
    maps = {"accounts": ACCOUNTS}
    with service_monitors(), installed(tmp_path_factory.mktemp("chart"), values, config_maps=maps) as made:
        yield made


#: Rank 0 waits until all others have found it by the variables of their task.
MEET = """
import os, socket, time
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
there = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    listens = socket.create_server(("", there[1]))
    for _ in range(ranks - 1):
        listens.accept()
else:
    while True:
        try:
            socket.create_connection(there, timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
print(f"rank {rank} of {ranks}")
time.sleep(3)
"""


def test_a_task_is_submitted_its_ranks_meet_and_it_shows_its_log(platform: Platform) -> None:
    client = platform.client("ann")
    task = client.submit(TaskRequest(command=("python3", "-c", MEET), nodes=2, name="hello", cwd="/tmp"))
    chart_wait_for(
        "the run's pods", lambda: len(platform.objects("pods", platform.work, f"hai.jupyter.org/task={task.id}")) == 2
    )
    chart_wait_for("the end", lambda: state_of(client, task) in ("succeeded", "failed", "stopped"))
    assert state_of(client, task) == "succeeded", client.task(task.id)
    for rank in (0, 1):
        assert f"rank {rank} of 2" in [line.text for line in client.logs(task.id, rank=rank)]
    chart_wait_for(
        "nothing left", lambda: not platform.objects("pods", platform.work, f"hai.jupyter.org/task={task.id}")
    )
    assert_computes(client, task, "rank 1 of 2")


#: What a process says of itself: number, groups, name, and the name that Python finds.
WHO = "id -u; id -G; id -un; python3 -c 'import getpass; print(getpass.getuser())'"


@pytest.mark.parametrize(
    ("user", "said"), [("ann", ["20017", "20017 3100", "ann", "ann"]), ("bob", ["20018"] * 2 + ["bob"] * 2)]
)
def test_a_server_and_a_task_are_their_user(platform: Platform, user: str, said: list[str]) -> None:
    start_server(platform, user)
    words = ["-n", platform.work, "exec", f"jupyter-{user}", "-c", "notebook", "--", "sh", "-c", WHO]
    assert tool("kubectl", *words).splitlines() == said
    client = platform.client(user)
    task = client.submit(TaskRequest(command=("sh", "-c", WHO), nodes=1, name="who", cwd="/tmp"))
    (pod,) = chart_wait_for(
        "the pod", lambda: platform.objects("pods", platform.work, f"hai.jupyter.org/task={task.id}")
    )
    chart_wait_for("the end", lambda: state_of(client, task) in ("succeeded", "failed", "stopped"))
    assert [line.text for line in client.logs(task.id) if not line.text.startswith("-- ")] == said
    (server,) = (one for one in platform.objects("pods", platform.work) if one["metadata"]["name"] == f"jupyter-{user}")
    assert [pod_security.faults(one) for one in (pod, server)] == [[], []]


@needs_policies
def test_each_pod_reaches_whom_the_policies_say_and_nobody_else(platform: Platform) -> None:
    given = {"separate": False, "spot": True, "internet": False, "metrics": True}
    with chart_ways(platform, **given) as (sources, targets):
        found = faults(sources, targets)
    assert not found, "\n".join(found)


def test_an_upgrade_keeps_tasks_running_and_secrets_as_they_are(platform: Platform) -> None:
    client = platform.client("ann")
    task = client.submit(TaskRequest(command=("sleep", "3600"), nodes=1, name="long", cwd="/tmp"))
    chart_wait_for("the start", lambda: state_of(client, task) == "running")

    def seen() -> tuple[dict[str, str], set[str]]:
        held = {entry["metadata"]["name"]: json.dumps(entry.get("data")) for entry in tokens()}
        return held, {pod["metadata"]["uid"] for pod in platform.objects("pods", platform.work)}

    def tokens() -> list[dict[str, Any]]:
        found = platform.objects("secrets", platform.namespace, "app.kubernetes.io/name=hai")
        return [entry for entry in found if not entry["metadata"]["name"].endswith("-config")]

    def hub() -> str:
        (pod,) = platform.objects("pods", platform.namespace, "app.kubernetes.io/component=hub")
        return str(pod["metadata"]["uid"])

    before, old_hub = seen(), hub()
    platform.helm("--set", "hub.annotations.upgraded=yes", "--set", "hub.loadRoles.more.scopes={list:users}")
    assert hub() != old_hub
    assert seen() == before
    platform.open()
    platform.clients.clear()
    client = platform.client("ann")
    assert state_of(client, task) == "running"
    assert len(client.runs(task.id)) == 1
    client.stop(task.id)
    chart_wait_for("the stop", lambda: state_of(client, task) == "stopped")


#: With the scheduler in the Hub's pod one account does the work of both.
MAY = {
    "pods": {*LOOK, "create", "delete", "deletecollection"},
    "persistentvolumeclaims": {"create", "delete", "get"},
    "events": set(LOOK),
    "services": {*LOOK, "create", "delete", "get", "patch"},
    "secrets": {"create"},
    # Of the one named `hai-databases` it may get and patch as well.
    "configmaps": {"create"},
    "serviceaccounts": set(),
}


@pytest.mark.parametrize("resource", MAY)
def test_the_platform_may_do_these_things_among_the_workloads_and_no_others(platform: Platform, resource: str) -> None:
    assert allowed(platform.hub, resource, platform.work) == MAY[resource]


@pytest.mark.parametrize("resource", MAY)
def test_the_platform_may_do_nothing_in_its_own_and_in_other_namespaces(platform: Platform, resource: str) -> None:
    for namespace in (platform.namespace, "kube-system", "default"):
        assert allowed(platform.hub, resource, namespace) == set()


def test_of_the_cluster_the_platform_sees_the_nodes(platform: Platform) -> None:
    assert allowed(platform.hub, "nodes", "") == set(LOOK)


def test_training_pods_may_do_nothing_and_have_no_token(platform: Platform) -> None:
    client = platform.client("ann")
    task = client.submit(TaskRequest(command=("sleep", "60"), nodes=1, name="nobody", cwd="/tmp"))
    (pod,) = chart_wait_for(
        "the pod", lambda: platform.objects("pods", platform.work, f"hai.jupyter.org/task={task.id}")
    )
    assert pod["spec"]["serviceAccountName"] == "hai-task"
    mounts = [mount["mountPath"] for entry in pod["spec"]["containers"] for mount in entry["volumeMounts"]]
    assert not [path for path in mounts if path.startswith("/var/run/secrets")]
    for resource in ("pods", "secrets"):
        assert allowed(f"{platform.work}:hai-task", resource, platform.work) == set()
    client.stop(task.id)


def test_no_config_map_holds_a_secret(platform: Platform) -> None:
    held = [
        base64.b64decode(text).decode()
        for entry in platform.objects("secrets", platform.namespace, "app.kubernetes.io/name=hai")
        if not entry["metadata"]["name"].endswith("-config")
        for text in entry["data"].values()
    ]
    maps = json.dumps(platform.objects("configmaps", platform.namespace))
    assert held
    assert not [secret for secret in held if secret in maps]
