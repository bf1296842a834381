"""What pods of tasks see of environments of haienv, all as one account; and what they tell of their image.

The whole platform with tasks as pods, as kit.kubernetes.platform makes it: the images of the chart are not needed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from hai_client.errors import Invalid
from hai_client.wire.schema import Task, TaskRequest
from integration.haienv.conftest import make_wheel
from kit.kubernetes.control import ask
from kit.kubernetes.place import IMAGE, Place
from kit.kubernetes.platform import PodPlatform, World, make_world
from kit.waiting import wait_for

CLAIM = "haienv"
#: A Python that this machine and the image have at the same place.
PYTHON = "/usr/bin/python3"
#: Prints the environments of users and groups that can be found below the root, and whether others' files can be read.
FOUND = """
import os
top = os.environ["HAIENV_ROOT"]
found = []
for level in ("users", "groups"):
    for owner in sorted(os.listdir(f"{top}/{level}") if os.path.isdir(f"{top}/{level}") else ()):
        found += [f"{level}/{owner}/{name}" for name in sorted(os.listdir(f"{top}/{level}/{owner}"))]
print("found:", *(one for one in found if "/." not in one))
print("root:", *sorted(os.listdir(top)), "uid", os.getuid())
"""


@dataclass(frozen=True, slots=True)
class EnvsWorld(World):
    """A world whose pods have the environments of the platform on a volume."""

    readable: str = "own"

    def settings(self, api_url: str) -> dict[str, object]:
        """KubernetesSettings with the claim of the environments."""
        more = {"haienv_claim": CLAIM, "haienv_image": IMAGE, "haienv_readable": self.readable}
        return {**World.settings(self, api_url), **more}


@pytest.fixture(scope="module")
def platform(shared_place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PodPlatform]:
    with make_world(shared_place) as world:
        given = {one.name: getattr(world, one.name) for one in fields(World)}
        made = PodPlatform(tmp_path_factory.mktemp("platform"), nodes=1, world=EnvsWorld(**given))
        root = made.state / "haienv"
        volume = f"{shared_place.namespace}-haienv"
        claim = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        }
        ask(
            "POST",
            "/api/v1/persistentvolumes",
            body={
                "metadata": {"name": volume},
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteMany"],
                    "claimRef": {"namespace": shared_place.namespace, "name": CLAIM},
                    "hostPath": {"path": str(root), "type": "Directory"},
                },
            },
        )
        ask(
            "POST",
            f"{shared_place.path}/persistentvolumeclaims",
            body={"metadata": {"name": CLAIM}, "spec": {**claim, "volumeName": volume}},
        )
        try:
            made.start()
            root.mkdir(exist_ok=True)
            root.chmod(0o755)
            for full in ("users/ann/own", "users/bob/hidden", "users/bob/sight", "groups/cv/vision", "base/common"):
                create(made, root, full)
            (root / "users/bob/sight").chmod(0o755)
            yield made
        finally:
            made.end()
            ask("DELETE", f"/api/v1/persistentvolumes/{volume}")


def create(platform: PodPlatform, root: Path, full: str) -> None:
    """Make an environment; all belong to the account of pods, as in the chart."""
    wheels = platform.home / "wheels"
    make_wheel(wheels, "alpha", "1.0")
    env = {
        **os.environ, "HAIENV_ROOT": str(root), "HAIENV_USER": "ann", "HAIENV_GROUPS": "cv", "UV_OFFLINE": "1",
        "UV_FIND_LINKS": str(wheels), "UV_CACHE_DIR": str(platform.home / "uv"), "UV_PYTHON_DOWNLOADS": "never",
    }  # fmt: skip
    words = [sys.executable, "-m", "haienv", "create", full, "--no-kernel", "-p", PYTHON, "alpha"]
    subprocess.run(words, env=env, check=True, capture_output=True)
    for path in [root / full, *(root / full).parents]:
        if path.is_relative_to(root) and path != root:
            shutil.chown(path, 1000, 100)
    for here, folders, files in os.walk(root / full):
        for name in [*folders, *files]:
            os.chown(f"{here}/{name}", 1000, 100, follow_symlinks=False)


def look(platform: PodPlatform, user: str, environment: str | None) -> str:
    """What a task of a user prints of the environments that it finds."""
    request = TaskRequest(
        name="looks", command=("python3", "-c", FOUND), cwd="/", gpus=1, environment=environment, priority="NORMAL"
    )
    client = platform.client(user)
    task = client.submit(request)

    def ended() -> Task | None:
        now = client.task(task.id)
        assert now.state not in ("failed", "stopped"), (now, [line.text for line in client.logs(task.id)])
        return now if now.state == "succeeded" else None

    wait_for("it to look", ended)
    return "\n".join(line.text for line in client.logs(task.id))


def found(said: str) -> list[str]:
    [line] = re.findall(r"found: ?(.*)", said)
    return str(line).split()


def test_another_users_environment_is_in_no_task_though_all_have_one_account(platform: PodPlatform) -> None:
    said = look(platform, "ann", "own")
    assert found(said) == ["users/ann/own"]
    assert "root: base users uid 1000" in said
    assert found(look(platform, "bob", None)) == ["users/bob/hidden", "users/bob/sight"]
    # What bob shares, in a task of ann's that names it: that one, and no other one of his.
    assert found(look(platform, "ann", "users/bob/sight")) == ["users/ann/own", "users/bob/sight"]
    with pytest.raises(Invalid, match="hidden"):
        look(platform, "ann", "users/bob/hidden")


def test_what_a_task_finds_in_its_image_counts_for_later_ones(platform: PodPlatform) -> None:
    ann = platform.client("ann")
    # It lasts long enough for its supervisor to tell.
    request = TaskRequest(name="first", command=("sleep", "5"), cwd="/", gpus=1, priority="NORMAL")
    first = ann.submit(request)
    wait_for("it to end", lambda: ann.task(first.id).state == "succeeded")
    place = platform.state / "haienv/users/ann/own/generations/1/manifest.json"
    manifest = json.loads(place.read_text())
    place.write_text(json.dumps({**manifest, "glibc": "9.99"}))
    try:
        with pytest.raises(Invalid) as caught:
            look(platform, "ann", "own")
    finally:
        place.write_text(json.dumps(manifest))
    assert re.search(
        rf"needs glibc 9\.99, and the platform's image {re.escape(IMAGE)} \(found by task \d+\) has 2\.\d+",
        str(caught.value),
    )
    assert found(look(platform, "ann", "own")) == ["users/ann/own"]
