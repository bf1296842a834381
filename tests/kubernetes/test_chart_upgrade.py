"""The chart of the last release, upgraded to this tree's and rolled back, under tasks that run, wait and are suspended.

It needs what tests/kubernetes/test_chart.py needs, and HAI_TEST_SHARED_PATH (kit.kubernetes.platform): tasks and the
database write there. HAI_TEST_LAST_CHART_VALUES names the values with which the chart of the last release is installed,
with images of its own commit.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hai_client.wire.schema import TaskRequest
from kit.kubernetes.platform import NO_SHARED, SHARED
from kit.kubernetes.release import CHART, PATIENCE, VALUES, Platform, chart_wait_for, installed, needs_images, tool
from upgrade.conftest import checked_out
from upgrade.counted import PROGRAM, Counting

LAST = os.environ.get("HAI_TEST_LAST_CHART_VALUES", "")
NO_LAST = "no images of the last release: name its chart's values by HAI_TEST_LAST_CHART_VALUES"
pytestmark = [
    needs_images,
    pytest.mark.skipif(not SHARED, reason=NO_SHARED),
    pytest.mark.skipif(not LAST, reason=NO_LAST),
]

#: Where tasks see the shared folder.
INSIDE = "/shared"


@dataclass
class Site:
    """The platform, and the folder that its tasks share with this machine."""

    platform: Platform
    folder: Path
    tasks: list[Counting] = field(default_factory=list)

    def submit(self, name: str, priority: str) -> Counting:
        """Submit a task of one node that counts."""
        folder = self.folder / "tasks" / name
        folder.mkdir()
        folder.chmod(0o777)
        command = ("python3", f"{INSIDE}/{PROGRAM.name}", f"{INSIDE}/tasks/{name}")
        request = TaskRequest(name=name, command=command, cwd="/", priority=priority, grace_s=30)
        made = Counting(lambda: self.platform.client("ann"), self.platform.client("ann").submit(request).id, folder, 1)
        self.tasks.append(made)
        return made

    def containers(self) -> dict[str, Any]:
        """By the name of each rank's pod, what a restart, another pod or a lost container would change."""
        pods = self.platform.objects("pods", self.platform.work, "app.kubernetes.io/managed-by=hai")
        return {pod["metadata"]["name"]: (pod["metadata"]["uid"], pod["status"]["containerStatuses"]) for pod in pods}

    def facts(self) -> tuple[Any, ...]:
        """What an upgrade may not change."""
        return self.containers(), [(task.state, task.runs()) for task in self.tasks]

    def versions(self) -> set[str]:
        """The folders in the names of the images that the platform runs: `last` is the last release."""
        pods = self.platform.objects(
            "pods", self.platform.namespace, "app.kubernetes.io/component in (hub,scheduler,api)"
        )
        images = {pod["spec"]["containers"][0]["image"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}
        return {image.split("/")[-2] for image in images}

    def supervisor(self, task: Counting) -> str:
        """The folder in the name of the image that brought the supervisor of the task's only rank."""
        (pod,) = self.platform.objects("pods", self.platform.work, f"hai.jupyter.org/task={task.id}")
        (image,) = {one["image"] for one in pod["spec"]["initContainers"]}
        return str(image.split("/")[-2])

    def reached_again(self) -> None:
        """The proxy and the Hub are others than before."""
        self.platform.open()
        self.platform.clients.clear()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """The last release, installed."""
    folder = Path(tempfile.mkdtemp(prefix="hai-test-upgrade-", dir=SHARED))
    folder.chmod(0o755)
    for name in ("tasks", "checkpoints", "database"):
        (folder / name).mkdir()
        # Ranks and the database run with other user ids.
        (folder / name).chmod(0o777)
    shutil.copy(PROGRAM, folder)
    volume = folder.name.replace("_", "-").lower()
    tool("kubectl", "create", "-f", "-", given=json.dumps(a_volume(volume, folder / "database")))
    chart = checked_out(tmp_path / "last") / "helm" / "hai"
    try:
        with installed(tmp_path, values(volume), chart=chart, images=LAST) as platform:
            ann = platform.client("ann")
            ann.set_mount("shared", "public", INSIDE, kind="host_path", source=str(folder), read_only=False)
            yield Site(platform, folder)
        # Nobody writes there any more.
        tool("kubectl", "-n", platform.namespace, "delete", "pod", "postgresql-0", "--grace-period=1", check=False)
    finally:
        tool("kubectl", "delete", "persistentvolume", volume, "--wait=false", check=False)
        # Files of other user ids: only root can remove all of them.
        shutil.rmtree(folder, ignore_errors=True)


def a_volume(name: str, folder: Path) -> dict[str, Any]:
    """A volume of its own class, for the database."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": name,
            "hostPath": {"path": str(folder), "type": "Directory"},
        },
    }


def values(volume: str) -> dict[str, Any]:
    """Replicas, which work on one database while they are replaced; two nodes, whatever else the cluster has."""
    found = json.loads(tool("kubectl", "get", "nodes", "-o", "json"))["items"]
    taints = {node["metadata"]["name"]: [one["key"] for one in node["spec"].get("taints", ())] for node in found}
    # Kubernetes' own come and go with a node's state.
    usable = sorted(name for name, keys in taints.items() if all(key.startswith("node.kubernetes.io/") for key in keys))
    if len(usable) < 2:
        pytest.skip(f"two nodes are needed, and there are {len(usable)}")
    settings = {
        "groups": {"training": f"kubernetes.io/hostname in ({','.join(usable[:2])})"},
        "checkpoint_root": f"{INSIDE}/checkpoints",
    }
    return {
        "scheduler": {
            "separate": True,
            "config": {"HaiScheduler": {"default_quota": "all"}, "KubernetesSettings": settings},
        },
        "postgresql": {"storage": {"enabled": True, "storageClass": volume, "size": "1Gi"}},
        # Newer clusters than this one would refuse the mount rule otherwise.
        "workloads": {"podSecurity": "privileged"},
    }


def test_nothing_is_lost_by_an_upgrade_of_the_chart_and_by_its_rollback(site: Site) -> None:
    platform = site.platform
    steady = site.submit("steady", "HIGH")
    resumed = site.submit("resumed", "NORMAL")
    for task in (steady, resumed):
        task.counts_on()
    urgent = site.submit("urgent", "VERY_HIGH")
    resumed.wait("suspended")
    urgent.counts_on()
    waiting = site.submit("waiting", "LOW")
    assert waiting.state == "queued"
    chart_wait_for("no pod but theirs", lambda: len(site.containers()) == 2)
    assert site.versions() == {"last"}

    # Upgraded: what runs does not notice, and its supervisors, of the last release, do what the new service says.
    before = site.facts()
    words = ["cluster", "upgrade", "--namespace", platform.namespace, "--wait", f"{PATIENCE:.0f}s"]
    platform.chart, platform.images = CHART, VALUES
    told = tool("hai", *words, *platform.files)
    site.reached_again()
    assert site.versions() == {"localhost"}
    assert site.facts() == before
    for task in (steady, urgent):
        task.counts_on()
        assert site.supervisor(task) == "last"
    pressing = site.submit("pressing", "VERY_HIGH")
    steady.wait("suspended")
    pressing.counts_on()
    for task in (urgent, pressing):
        task.end()
    for task in (steady, resumed):
        task.wait("running")
        task.counts_on()
        assert site.supervisor(task) == "localhost"
    chart_wait_for("no pod but theirs", lambda: len(site.containers()) == 2)

    # Rolled back, as the upgrade has said: the old service takes over what the new one has started and written.
    before = site.facts()
    (back,) = [line for line in told.splitlines() if "helm rollback" in line]
    tool(*shlex.split(back.partition(": ")[2]))
    site.reached_again()
    assert site.versions() == {"last"}
    assert site.facts() == before
    for task in (steady, resumed):
        task.counts_on()
    resumed.end()
    waiting.counts_on()
    assert site.supervisor(waiting) == "last"
    site.submit("submitted-to-the-old", "LOW")

    for task in site.tasks:
        task.end()
    for task in site.tasks:
        task.assert_ended_once()
    assert [len(task.runs()) for task in site.tasks] == [2, 2, 1, 1, 1, 1]
    ids = [task.id for task in site.tasks]
    assert ids == sorted(set(ids))
    chart_wait_for("nothing left", lambda: not site.containers())
