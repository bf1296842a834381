"""The proof: what a task began with is what it goes on with, whatever becomes of its environment between two turns."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import BIN, ROOT, Platform
from integration.haienv.conftest import World
from integration.haienv.conftest import world as world
from kit.waiting import wait_for

pytestmark = pytest.mark.e2e
COUNTING = str(ROOT / "tests/e2e/counting.py")
STEPS = 20


@dataclass
class Environments:
    """What ann does with `haienv` in a shell of the platform."""

    platform: Platform
    world: World

    @property
    def root(self) -> Path:
        return self.platform.state / "haienv"

    def do(self, *words: str) -> str:
        status, out, err = self.world.call(*words, HAIENV_ROOT=str(self.root))
        assert status == 0, err
        return out + err

    def prefix(self, name: str, generation: int) -> Path:
        return self.root / "users/ann" / name / "generations" / str(generation) / "prefix"


@pytest.fixture
def environments(platform: Platform, world: World) -> Environments:
    return Environments(platform, world)


def submit(platform: Platform, name: str, gate: Path, *options: str) -> int:
    words = ("submit", "--name", name, *options, "--", "python", COUNTING, str(STEPS), str(gate))
    return int(platform.json(*words)["id"])


def log(platform: Platform, task: int) -> str:
    return platform.hai("logs", str(task)).stdout


def seen(platform: Platform, task: int) -> list[str]:
    """The versions of `alpha` that the runs of a task have imported."""
    return re.findall(r"alpha (\S+) from", log(platform, task))


def in_state(platform: Platform, task: int, *states: str) -> dict[str, Any]:
    def look() -> dict[str, Any]:
        shown: dict[str, Any] = platform.json("status", str(task))
        assert shown["state"] in states or shown["state"] not in ("failed", "stopped"), log(platform, task)
        return shown if shown["state"] in states else {}

    return wait_for(f"task {task} to be {states}", look)


def result(platform: Platform, task: int) -> str:
    in_state(platform, task, "succeeded")
    [found] = re.findall(r"result ([0-9a-f]{64})", log(platform, task))
    return str(found)


def held(platform: Platform, task: int) -> None:
    wait_for(f"task {task} to hold", lambda: len(seen(platform, task)) > 0)


def test_a_task_goes_on_with_what_it_began_with(platform: Platform, environments: Environments, tmp_path: Path) -> None:
    closed, opened = tmp_path / "gate", tmp_path / "open"
    opened.touch()
    environments.do("create", "vision", "--no-kernel", "--python", sys.executable, "alpha==1.0")
    undisturbed = result(platform, submit(platform, "undisturbed", opened, "--environment", "vision"))

    task = submit(platform, "pinned", closed, "--environment", "vision")
    latest = submit(platform, "newest", closed, "--environment", "vision", "--env-latest")
    for one in (task, latest):
        held(platform, one)
        platform.hai("suspend", str(one))
        in_state(platform, one, "suspended")
    environments.do("install", "vision", "alpha==2.0")

    # A waiting task keeps its generation, also from one who keeps as few as possible.
    # The first task has ended, and its reference goes a moment later.
    wait_for(
        "the generation to stay for the pinned task",
        lambda: environments.do("gc", "vision", "--keep", "0"),
        met=lambda said: f"users/ann/vision@1 stays: task {task} of ann uses it" in said,
    )
    assert environments.prefix("vision", 1).is_dir()

    closed.touch()
    for one in (task, latest):
        platform.hai("resume", str(one))
    assert result(platform, task) == undisturbed
    assert seen(platform, task) == ["1.0", "1.0"]
    assert str(environments.prefix("vision", 1)) in log(platform, task)
    assert result(platform, latest) != undisturbed
    assert seen(platform, latest) == ["1.0", "2.0"]

    new = submit(platform, "new", closed, "--environment", "vision")
    assert result(platform, new) != undisturbed
    assert seen(platform, new) == ["2.0"]

    shown = platform.json("status", str(task))
    digest = shown["haienv"]["digest"]
    assert (shown["haienv"]["name"], shown["haienv"]["generation"]) == ("users/ann/vision", 1)
    assert [run["haienv"]["generation"] for run in shown["runs"]] == [1, 1]
    newest = platform.json("status", str(latest))
    assert [run["haienv"]["generation"] for run in newest["runs"]] == [1, 2]
    words = platform.hai("status", str(task)).stdout
    assert re.search(rf"environment +users/ann/vision@1 \({digest[:19]}\.\.\.\)", words), words

    # With the end of the task its reference goes.
    references = environments.root / "references"
    wait_for("the references to go", lambda: not list(references.rglob("*.json")))
    assert "users/ann/vision@1 is removed" in environments.do("gc", "vision", "--keep", "0")


def test_what_is_submitted_from_an_active_environment_is_pinned_to_it(
    platform: Platform, environments: Environments, tmp_path: Path
) -> None:
    (tmp_path / "gate").touch()
    environments.do("create", "active", "--no-kernel", "--python", sys.executable, "alpha==1.0")
    prefix = environments.prefix("active", 1)
    path = os.pathsep.join([str(prefix / "bin"), "/usr/bin", "/bin"])
    done = subprocess.run(
        [str(BIN / "hai"), "submit", "--name", "active", "-f", "--", "python", COUNTING, "4", str(tmp_path / "gate")],
        env=platform.env | {"VIRTUAL_ENV": str(prefix), "PATH": path}, cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "environment: users/ann/active@1 (sha256:" in done.stdout
    assert "alpha 1.0 from step 0" in done.stdout
    # What a task says of haienv is the same as in a shell.
    words = (
        "submit",
        "--environment",
        "active",
        "-f",
        "--",
        "python",
        "-c",
        "import os; print(os.environ['HAIENV_ROOT'])",
    )
    assert str(environments.root) in platform.hai(*words).stdout


def test_a_task_whose_environment_is_gone_waits_and_says_so(
    platform: Platform, environments: Environments, tmp_path: Path
) -> None:
    environments.do("create", "frail", "--no-kernel", "--python", sys.executable, "alpha==1.0")
    task = submit(platform, "frail", tmp_path / "gate", "--environment", "frail", "--retries", "1")
    held(platform, task)
    platform.hai("suspend", str(task))
    in_state(platform, task, "suspended")
    refused = environments.world.call("remove", "frail", HAIENV_ROOT=str(environments.root))
    assert refused[0] != 0
    assert f"is in use by task {task} of ann" in refused[2]
    folder = environments.root / "users/ann/frail/generations/1"
    aside = folder.with_name("aside")
    shutil.move(folder, aside)
    platform.hai("resume", str(task))

    def told() -> dict[str, Any]:
        shown: dict[str, Any] = platform.json("status", str(task))
        return shown if "users/ann/frail@1" in shown["message"] else {}

    shown = wait_for("the task to say why it cannot start", told)
    assert "is gone" in shown["message"]
    assert (shown["state"], shown["retries_used"]) == ("suspended", 0)
    assert {node["mark"] for node in platform.json("nodes")["items"]} == {"none"}
    shutil.move(aside, folder)
    (tmp_path / "gate").touch()
    result(platform, task)
    assert seen(platform, task) == ["1.0", "1.0"]


def test_a_name_that_is_not_there_is_refused(platform: Platform) -> None:
    done = platform.hai("submit", "--environment", "nowhere", "--", "true", check=False)
    assert done.returncode != 0
    assert "there is no 'nowhere' in users/ann" in done.stderr
