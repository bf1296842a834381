"""The whole platform, `hai up`, whose tasks are pods on two nodes of a real cluster.

HAI_TEST_SHARED_PATH        folder that this machine and all nodes see under this name
HAI_TEST_TRAINING_IMAGE     image with python3, numpy and scikit-learn; or, with the image of the other tests,
HAI_TEST_TRAINING_PACKAGES  folder that all nodes see with both of them, as `pip install --target` makes it
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from e2e.conftest import HELD, ROOT, Platform
from hai_client.errors import Unavailable
from hai_client.wire.schema import Task, TaskRequest
from hai_scheduler.adapters.kubernetes.nodes import readiness
from kit.kubernetes.control import ask
from kit.kubernetes.place import CONFIG_MAP, IMAGE, INIT_IMAGE, PULL_POLICY, SOON, Place
from kit.waiting import wait_for

SHARED = os.environ.get("HAI_TEST_SHARED_PATH", "")
TRAINING_IMAGE = os.environ.get("HAI_TEST_TRAINING_IMAGE", "")
TRAINING_PACKAGES = os.environ.get("HAI_TEST_TRAINING_PACKAGES", "")
GPU = "nvidia.com/gpu"
NO_SHARED = "no folder that this machine shares with all nodes: name one by HAI_TEST_SHARED_PATH"
NO_TRAINING = "nothing to train with: name HAI_TEST_TRAINING_IMAGE or HAI_TEST_TRAINING_PACKAGES"
#: Where pods see the shared folder.
INSIDE = "/shared"

CONFIG = """
import sys
from pathlib import Path

sys.path.insert(0, {tests!r})
from kit.kubernetes.traps import set_traps

set_traps(Path({traps!r}))
c = get_config()
c.HaiScheduler.cluster = "kubernetes"
c.HaiScheduler.default_quota = "all"
for name, value in {settings!r}.items():
    setattr(c.KubernetesSettings, name, value)
for name, value in {identities!r}.items():
    setattr(c.IdentityConfig, name, value)
"""


@dataclass(frozen=True, slots=True)
class World:
    """The part of a cluster that a platform gets: two nodes, and a folder that their pods share with this machine."""

    place: Place
    nodes: tuple[str, str]
    #: GPUs that each of the nodes has at least.
    gpus: int
    folder: Path
    #: Settings of who users are.
    identities: Mapping[str, object] = field(default_factory=dict)

    @property
    def half(self) -> int:
        """The number of GPUs that fits twice on a node."""
        return self.gpus // 2

    def settings(self, api_url: str) -> dict[str, object]:
        """KubernetesSettings for these nodes, with times that fit a test."""
        return {
            "namespace": self.place.namespace,
            "kubeconfig": self.place.kubeconfigs["scheduler"],
            "api_url": api_url,
            "checkpoint_root": f"{INSIDE}/checkpoints",
            "image": IMAGE,
            "image_pull_policy": PULL_POLICY,
            "init_image": INIT_IMAGE,
            "client_config_map": "" if INIT_IMAGE else CONFIG_MAP,
            "groups": {"training": f"kubernetes.io/hostname in ({','.join(self.nodes)})"},
            "gpu_resources": [GPU],
            "cpu_share": 0.0,
            "memory_share": 0.0,
            "shm_size": "64Mi",
            "term_wait": "2s",
            "lost_after": "5s",
            "stale_after": "6s",
            "watch_for": "3s",
        }

    def config(self, api_url: str) -> Path:
        """Write a configuration file of the scheduler service; returns its path."""
        file = self.folder / "scheduler.py"
        tests = str(Path(__file__).parents[2])
        values = {
            "tests": tests,
            "traps": str(self.folder / "traps"),
            "settings": self.settings(api_url),
            "identities": dict(self.identities),
        }
        file.write_text(CONFIG.format(**values))
        return file

    def trap(self, moment: str) -> Path:
        """Let the service end after the next such moment; returns a file that exists until then (see `traps`)."""
        file = self.folder / "traps" / moment
        file.touch()
        return file

    def command(self, name: str) -> tuple[str, ...]:
        """The command that runs kit.kubernetes.worker under that name, until its gate is opened."""
        return ("python3", f"{INSIDE}/worker.py", INSIDE, name)

    def open_gate(self, *names: str) -> None:
        """Let the commands of these names end."""
        for name in names:
            (self.folder / "gates" / name).touch()

    def lines(self, name: str) -> list[list[str]]:
        """Lines that the ranks of that name have written: each is a word, then run, rank and node."""
        file = self.folder / "lines" / name
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def starts(self, name: str) -> Counter[tuple[str, str]]:
        """How often each rank of each run has started its command."""
        return Counter((line[-3], line[-2]) for line in self.lines(name) if line[0] in ("started", "resumed"))

    def told(self, name: str) -> list[tuple[str, str]]:
        """The reason and the run of each notice."""
        return [(line[1], line[2]) for line in self.lines(name) if line[0] == "told"]


def for_all(path: str | Path) -> None:
    """Let everybody read a file or folder: pods run with other user ids, whatever the umask here is."""
    Path(path).chmod(0o755 if Path(path).is_dir() else 0o644)


@contextmanager
def make_world(place: Place) -> Iterator[World]:
    """Find two nodes, and make the folder. Skips where the cluster is not enough."""
    if not SHARED:
        pytest.skip(NO_SHARED)
    found = [ask("GET", f"/api/v1/nodes/{name}") for name in place.nodes]
    devices = {
        node["metadata"]["labels"]["kubernetes.io/hostname"]: int(node["status"]["allocatable"].get(GPU, 0))
        for node in found
        if readiness(node)[0] and node["metadata"]["labels"].get("kubernetes.io/hostname") == node["metadata"]["name"]
    }
    usable = sorted(name for name, gpus in devices.items() if gpus >= 2)[:2]
    if len(usable) < 2:
        pytest.skip(f"two nodes with 2 {GPU} are needed, and there are {len(usable)}")
    folder = Path(tempfile.mkdtemp(prefix="hai-test-", dir=SHARED))
    try:
        for name in ("checkpoints", "lines", "saved", "gates", "traps"):
            (folder / name).mkdir()
            # Ranks run with another user id, and must be able to write here.
            (folder / name).chmod(0o777)
        for_all(folder)
        for program in (Path(__file__).with_name("worker.py"), HELD, ROOT / "examples" / "train_digits.py"):
            for_all(shutil.copy(program, folder))
        yield World(place, (usable[0], usable[1]), min(devices[name] for name in usable), folder)
    finally:
        # Files that ranks have written belong to their user id: only root can remove all of them.
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class PodPlatform(Platform):
    """A running `hai up` with its tasks as pods."""

    world: World = field(kw_only=True)

    def start(self) -> None:
        """Start the platform, and mount the shared folder into its tasks."""
        api_url = f"http://{self.world.place.host}:{self.port}/services/hai/api/v1"
        self.options = ("--ip", "0.0.0.0", "--scheduler-config", str(self.world.config(api_url)))
        super().start()
        ann = self.client()
        ann.set_mount("shared", "public", INSIDE, kind="host_path", source=str(self.world.folder), read_only=False)
        if TRAINING_PACKAGES:
            ann.set_mount("packages", "public", "/packages", kind="host_path", source=TRAINING_PACKAGES)
            ann.set_environment("training", ["public"], variables={"PYTHONPATH": "/packages"})
        elif TRAINING_IMAGE:
            ann.set_environment("training", ["public"], image=TRAINING_IMAGE)

    def submit(
        self, name: str, *, user: str = "ann", nodes: int = 1, gpus: int | None = None, priority: str = "NORMAL"
    ) -> int:
        """Submit a task that waits for its gate; returns its id."""
        request = TaskRequest(
            name=name, command=self.world.command(name), cwd="/", nodes=nodes, gpus=gpus, priority=priority, grace_s=15
        )
        return self.client(user).submit(request).id

    def task(self, number: int, user: str = "ann") -> Task | None:
        """The task; None while the service is being started again."""
        try:
            return self.client(user).task(number)
        except Unavailable:
            return None

    def state_of(self, number: int, user: str = "ann") -> str:
        """The state of the task; `unavailable` while the service is being started again."""
        task = self.task(number, user)
        return "unavailable" if task is None else task.state

    def until(self, number: int, state: str, *, user: str = "ann") -> Task:
        """Wait until the task is in that state."""

        def reached() -> Task | None:
            task = self.task(number, user)
            assert task is None or task.state == state or task.state not in ("failed", "stopped", "succeeded"), task
            return task if task is not None and task.state == state else None

        found = wait_for(f"task {number} to be {state}", reached, SOON)
        assert found is not None
        return found

    def until_lines(self, name: str, count: int, word: str) -> None:
        """Wait until `count` ranks of the task called `name` have written `word`."""
        wait_for(
            f"{name}: {count} {word}", lambda: [line[0] for line in self.world.lines(name)].count(word) >= count, SOON
        )

    def health(self) -> str:
        """The service's report of its health; empty if all is well."""
        found = self.client().health()
        return "" if found.status == "ok" else found.detail or found.status

    def pods(self) -> list[str]:
        """The names of all pods of tasks."""
        query = {"labelSelector": "app.kubernetes.io/managed-by=hai"}
        return [pod["metadata"]["name"] for pod in ask("GET", f"{self.world.place.path}/pods", query=query)["items"]]
