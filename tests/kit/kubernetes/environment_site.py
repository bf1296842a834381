"""The chart with environments of haienv, installed on a real cluster."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hai_client.api import Client
from hai_client.wire.schema import Task, TaskRequest
from kit.kubernetes.platform import SHARED, for_all
from kit.kubernetes.release import ROOT, Platform, chart_wait_for, installed, start_server, state_of, tool

ENVS = "/haienv"
#: Where all servers and builds see the packages: what else lies in the root is in no pod.
WHEELS = f"{ENVS}/base/.wheels"
#: Where tasks see the folder of gates and checkpoints.
INSIDE = "/shared"
STEPS = 20
#: A Python that is in the image of servers and in that of tasks.
PYTHON = "/usr/bin/python3"
ACCOUNTS = "c.KubeSpawner.uid = lambda spawner: {'ann': 1000}.get(spawner.user.name, 2002)"
#: Homes that are lost with the pod, and that every account may write by the group of the volume.
HOMES = {
    "type": "none",
    "extraVolumes": [{"name": "home", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "home", "mountPath": "/home/jovyan"}],
}
#: Builds by the platform take packages from the folder of the servers' builds, and the Python of all images.
OFFLINE = {
    "UV_OFFLINE": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    "UV_FIND_LINKS": WHEELS,
}


@dataclass(frozen=True)
class Site:
    """An installed platform, and its volume as this machine sees it."""

    platform: Platform
    folder: Path
    #: Tokens of the Hub, by user.
    tokens: dict[str, str]

    def in_server(self, user: str, *words: str, check: bool = True) -> str:
        """Run a program in a user's server; returns what it prints, with its messages."""
        offline = ["UV_OFFLINE=1", "UV_PYTHON_DOWNLOADS=never", f"UV_FIND_LINKS={WHEELS}"]
        command = ["-n", self.platform.work, "exec", f"jupyter-{user}", "-c", "notebook", "--", "env", *offline, *words]
        script = 'exec 2>&1; "$@"; echo "status $?"'
        said = tool("kubectl", *command[:7], "sh", "-c", script, "sh", *command[7:])
        text, _, status = said.rpartition("status ")
        assert not check or status.strip() == "0", text
        return text

    def start(self, *users: str) -> None:
        """Start the servers of users."""
        self.tokens.update({user: start_server(self.platform, user) for user in users})
        # Ann is the admin that the platform knows by a password.
        for user in users:
            if user != "ann":
                self.platform.clients[user] = Client(self.platform.url, self.tokens[user])

    def restart(self, user: str) -> None:
        """Stop a user's server, and start it again."""
        self.hub(user, "DELETE", f"/users/{user}/server")
        address = f"{self.platform.url}/hub/api/users/{user}"
        request = urllib.request.Request(address, headers={"Authorization": f"token {self.tokens[user]}"})

        def stopped() -> bool:
            with urllib.request.urlopen(request) as answer:
                return not json.load(answer)["servers"]

        chart_wait_for(f"the server of {user} to be gone", stopped)
        start_server(self.platform, user)

    def submit(self, name: str, gate: str, environment: str, user: str = "ann") -> Task:
        command = ("python", f"{INSIDE}/counting.py", str(STEPS), f"{INSIDE}/gates/{gate}")
        request = TaskRequest(name=name, command=command, cwd="/", environment=environment, grace_s=30)
        return self.platform.client(user).submit(request)

    def log(self, task: Task, user: str = "ann") -> str:
        return "\n".join(line.text for line in self.platform.client(user).logs(task.id))

    def until(self, task: Task, state: str, user: str = "ann") -> Task:
        client = self.platform.client(user)

        def reached() -> bool:
            now = state_of(client, task)
            assert now == state or now not in ("failed", "stopped", "succeeded"), (client.task(task.id), self.log(task))
            return now == state

        chart_wait_for(f"{task.name} to be {state}", reached)
        return client.task(task.id)

    def built(self, task: Task, user: str = "ann") -> None:
        """Wait until a build has ended well."""
        self.until(task, "succeeded", user)

    def hub(self, user: str, method: str, path: str, body: dict[str, Any] | None = None) -> None:
        """Ask the Hub for something, as a user."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.tokens[user]}"}
        request = urllib.request.Request(f"{self.platform.url}/hub/api{path}", data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            assert answer.status in (200, 201, 202, 204)

    def result(self, task: Task, user: str = "ann") -> str:
        self.until(task, "succeeded", user)
        [found] = re.findall(r"result ([0-9a-f]{64})", self.log(task, user))
        return str(found)

    def seen(self, task: Task) -> list[str]:
        """The versions of `alpha` that the runs of a task have imported."""
        return re.findall(r"alpha (\S+) from", self.log(task))


@contextmanager
def environment_site(chart: Path) -> Iterator[Site]:
    """An installation of the chart with environments and copies of them on nodes; it is removed at the end.

    Args:
        chart: A folder for the values of the chart.
    """
    folder = Path(tempfile.mkdtemp(prefix="hai-test-envs-", dir=SHARED))
    for name in ("envs", "disk", "shared", "shared/gates", "shared/checkpoints"):
        (folder / name).mkdir()
        for_all(folder / name)
    # Both nodes are on one machine here, and have one disk.
    os.chown(folder / "disk", 1000, 100)
    for_all(folder)
    for name in ("gates", "checkpoints"):
        (folder / "shared" / name).chmod(0o777)
    (folder / "shared/gates/open").touch()
    for_all(shutil.copy(ROOT / "tests/e2e/counting.py", folder / "shared"))
    namespace = ""
    try:
        with installed(chart, _values(folder)) as platform:
            namespace = platform.namespace
            ann = platform.client("ann")
            ann.set_mount("shared", "public", INSIDE, kind="host_path", source=str(folder / "shared"), read_only=False)
            yield Site(platform, folder, {})
    finally:
        names = [f"{namespace}-hai-{name}-haienv" for name in (namespace, f"{namespace}-work")]
        names.append(f"{namespace}-hai-haienv-local")
        tool("kubectl", "delete", "persistentvolume", *names, "--wait=false", check=False)
        shutil.rmtree(folder, ignore_errors=True)


def _values(folder: Path) -> dict[str, Any]:
    volume = {
        "type": "static",
        "size": "1Gi",
        "source": {"hostPath": {"path": str(folder / "envs"), "type": "Directory"}},
    }
    return {
        "haienv": {
            "enabled": True,
            "root": ENVS,
            "pythons": "system",
            "volume": volume,
            "local": {"path": str(folder / "disk")},
        },
        "hub": {
            "extraConfig": {"accounts": ACCOUNTS},
            # Any node will do: the other tests leave no label on them.
            "config": {"HaiKubeSpawner": {"group_label": "kubernetes.io/os", "groups": ["linux"]}},
        },
        "singleuser": {"storage": HOMES, "memory": {"guarantee": "64M"}},
        "scheduler": {
            "config": {
                "KubernetesSettings": {
                    "checkpoint_root": f"{INSIDE}/checkpoints",
                    "haienv_build_variables": OFFLINE,
                }
            }
        },
        # Its API server is older than pod security standards; others would refuse the mount rule below.
        "workloads": {"podSecurity": "privileged"},
    }
