"""The command and the Python client of one version speak to the service of the other: what people type each day."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.conftest import BIN, Platform
from kit.waiting import PATIENCE, wait_for
from upgrade.conftest import Release

pytestmark = pytest.mark.upgrade

#: What a script does with the Python client.
SCRIPT = """
import time
from hai_client import Client, TaskRequest

client = Client()
task = client.submit(TaskRequest(name="scripted", command=["sh", "-c", "echo from a script"], cwd="/tmp"))
while str((found := client.task(task.id)).state) not in ("succeeded", "failed"):
    time.sleep(0.1)
print(found.state, [line.text for line in client.logs(task.id) if "script" in line.text])
"""


@pytest.fixture(scope="module", params=["the last release", "this tree"])
def platform(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, last: Release) -> Iterator[Any]:
    """A platform of the one version, to which the programs of the other are pointed."""
    service, client = (last.bin, BIN) if request.param == "the last release" else (BIN, last.bin)
    made = Platform(tmp_path_factory.mktemp("platform"), nodes=2, bin=service)
    try:
        made.start()
        made.bin = client
        yield made
    finally:
        made.bin = service
        made.end()


def submitted(platform: Platform, name: str, shell: str, *options: str) -> int:
    return int(platform.json("submit", "--name", name, *options, "--", "sh", "-c", shell)["id"])


def state_of(platform: Platform, task: int) -> str:
    return str(platform.json("status", str(task))["state"])


def test_a_task_is_submitted_followed_and_found_again(platform: Platform) -> None:
    task = submitted(platform, "followed", "for n in 1 2 3; do echo line $n; sleep 0.2; done")
    followed = platform.hai("logs", "-f", str(task)).stdout.split("\n")
    assert [line for line in followed if line.startswith("line ")] == ["line 1", "line 2", "line 3"]
    wait_for("it to have ended", lambda: state_of(platform, task) == "succeeded")
    assert task in [one["id"] for one in platform.json("list", "--all")["items"]]
    for words in (("list", "--all"), ("status", "followed"), ("describe", "followed")):
        assert "followed" in platform.hai(*words).stdout, words


def test_a_task_that_waits_is_explained_steered_and_stopped(platform: Platform) -> None:
    first = submitted(platform, "first", "sleep 1000", "--nodes", "2")
    wait_for("the first to run", lambda: state_of(platform, first) == "running")
    task = submitted(platform, "second", "sleep 1000", "--nodes", "2", "--priority", "LOW")
    explained = wait_for("a verdict", lambda: platform.json("explain", str(task)).get("verdict"))
    assert explained
    assert f"task {task} is queued" in platform.hai("explain", "second").stdout
    platform.hai("hold", str(task))
    assert platform.json("status", str(task))["held"]
    platform.hai("resume", str(task))
    assert not platform.json("status", str(task))["held"]
    platform.hai("priority", str(task), "NORMAL")
    platform.hai("tag", str(task), "later")
    for name, number in (("first", first), ("second", task)):
        platform.hai("stop", name)
        wait_for("it to be stopped", lambda: state_of(platform, number) == "stopped")  # noqa: B023


@pytest.mark.parametrize("words", [("nodes",), ("quota",), ("whoami",), ("policy",), ("admin", "health")], ids=str)
def test_what_is_asked_of_the_platform_is_told(platform: Platform, words: tuple[str, ...]) -> None:
    assert platform.hai(*words).stdout.strip()
    assert isinstance(platform.json(*words), dict)


def test_what_is_refused_is_refused_in_the_same_words(platform: Platform) -> None:
    refused = platform.hai("submit", "--nodes", "99", "--", "true", check=False)
    assert refused.returncode == 2
    assert "99" in refused.stderr
    missing = platform.hai("status", "123456", check=False)
    assert missing.returncode == 2
    assert "123456" in missing.stderr


def test_a_script_submits_waits_and_reads_the_log(platform: Platform) -> None:
    command = [platform.bin / "python", "-c", SCRIPT]
    done = subprocess.run(command, env=platform.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "succeeded ['from a script']\n"
