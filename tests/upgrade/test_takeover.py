"""Another version takes a platform over, with tasks that run, wait and are suspended: forth, back, and forth again."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import BIN, Platform, processes_with
from hai_client.errors import HaiError
from kit.databases import empty_postgres, postgres_url
from kit.waiting import wait_for
from upgrade.conftest import Release

pytestmark = pytest.mark.upgrade

COUNTING = Path(__file__).with_name("counting.py")


@dataclass
class Counting:
    """A task of `counting.py`."""

    platform: Platform
    id: int
    folder: Path
    nodes: int

    @property
    def state(self) -> str:
        try:
            return str(self.platform.client().task(self.id).state)
        except HaiError:
            return "unknown"

    def runs(self) -> list[Any]:
        shown: list[Any] = self.platform.json("status", str(self.id))["runs"]
        return shown

    def end(self) -> None:
        (self.folder / "end").touch()

    def printed(self, rank: int = 0) -> int:
        """How many numbers the rank has printed."""
        file = self.folder / f"printed-{rank}"
        return file.read_text().count("\n") if file.exists() else 0

    def wait(self, state: str) -> None:
        wait_for(f"task {self.id} to be {state}", lambda: self.state, met=lambda found: found == state)

    def counts_on(self) -> None:
        """Wait until each rank has printed more, and the log shows it."""
        for rank in range(self.nodes):
            to = self.printed(rank) + 3
            wait_for("the log to go on", lambda: len(self.log(rank)) >= to)  # noqa: B023

    def log(self, rank: int = 0) -> list[str]:
        shown = self.platform.hai("logs", str(self.id), "-r", str(rank)).stdout
        return [line for line in shown.split("\n") if line.startswith("number ")]

    def assert_log_is_whole(self) -> None:
        for rank in range(self.nodes):
            printed = self.printed(rank)
            assert printed, f"rank {rank} of task {self.id} has printed nothing"
            assert self.log(rank)[:printed] == [f"number {number}" for number in range(printed)]

    def processes(self) -> tuple[int, ...]:
        """The keepers and supervisors of its ranks, and what its ranks have started."""
        found = {*processes_with(f"{self.platform.state}/runs/{self.id}/"), *processes_with(str(self.folder))}
        return tuple(sorted(found))


@dataclass
class Story:
    """A platform that versions hand over to each other."""

    platform: Platform
    folder: Path

    def submit(self, name: str, nodes: int, priority: str) -> Counting:
        folder = self.folder / name
        folder.mkdir()
        words = ["submit", "--nodes", str(nodes), "--priority", priority, "--name", name]
        made = self.platform.json(*words, "--", "python3", str(COUNTING), str(folder))
        return Counting(self.platform, int(made["id"]), folder, nodes)

    def go_on_with(self, programs: Path) -> None:
        """Kill the platform, and start that of another version: it takes over what runs."""
        assert self.platform.process is not None
        self.platform.process.kill()
        self.platform.process.wait()
        self.platform.bin = programs
        self.platform.start()

    def stop_and_go_on_with(self, programs: Path) -> None:
        """Stop the platform as Ctrl-C does, and start that of another version."""
        self.platform.interrupt()
        self.platform.bin = programs
        self.platform.start()


@pytest.fixture(params=["sqlite", "postgres"])
async def options(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, ...]:
    if request.param == "sqlite":
        return ()
    url = postgres_url()
    await empty_postgres(url, drop=True)
    config = tmp_path / "scheduler.py"
    config.write_text(f"c.HaiScheduler.db_url = {url!r}\n")
    return ("--scheduler-config", str(config))


@pytest.fixture
def story(tmp_path: Path, options: tuple[str, ...], last: Release) -> Iterator[Story]:
    """A platform of the last release."""
    home, folder = tmp_path / "platform", tmp_path / "tasks"
    home.mkdir()
    folder.mkdir()
    platform = Platform(home, nodes=3, options=options, bin=last.bin)
    try:
        platform.start()
        yield Story(platform, folder)
    finally:
        platform.end()
        for pid in processes_with(str(folder)):
            raise AssertionError(f"process {pid} of a task is left")


def test_nothing_is_lost_when_versions_hand_over(story: Story, last: Release) -> None:
    steady = story.submit("steady", 2, "HIGH")
    resumed = story.submit("resumed", 1, "NORMAL")
    for task in (steady, resumed):
        task.counts_on()
    urgent = story.submit("urgent", 1, "VERY_HIGH")
    resumed.wait("suspended")
    urgent.counts_on()
    waiting = story.submit("waiting", 1, "LOW")
    assert waiting.state == "queued"
    tasks = [steady, resumed, urgent, waiting]

    # The new version says what it would change, beside the platform that runs.
    words = ["upgrade", "--plan", "--json", "--state-dir", str(story.platform.state)]
    told = subprocess.run([BIN / "hai", *words], env=story.platform.env, capture_output=True, text=True, check=False)
    plan = json.loads(told.stdout)
    assert (plan["runs"], plan["live_runs"], plan["database"]["problem"]) == (True, 2, None), plan
    assert told.returncode == int(plan["must"] is True)

    # To the new version: what runs does not notice.
    before = [(task.state, task.processes(), task.runs()) for task in tasks]
    story.go_on_with(BIN)
    assert [(task.state, task.processes(), task.runs()) for task in tasks] == before
    for task in (steady, urgent):
        task.counts_on()
    urgent.end()
    resumed.wait("running")
    resumed.counts_on()
    assert [run["number"] for run in resumed.runs()] == [1, 2]
    tasks.append(story.submit("submitted-to-the-new", 1, "LOW"))

    # Back to the old one, which takes over runs that the new one has started.
    before = [(task.state, task.processes(), task.runs()) for task in tasks]
    story.go_on_with(last.bin)
    assert [(task.state, task.processes(), task.runs()) for task in tasks] == before
    for task in (steady, resumed):
        task.counts_on()
    resumed.end()
    waiting.counts_on()
    tasks.append(story.submit("submitted-to-the-old", 1, "LOW"))

    # And forth as Ctrl-C does it: what runs saves, leaves and goes on.
    story.stop_and_go_on_with(BIN)
    for task in (steady, waiting):
        task.counts_on()
        assert [run["number"] for run in task.runs()] == [1, 2]
    for task in tasks:
        task.end()
    for task in tasks:
        task.wait("succeeded")
        if task.printed():
            task.assert_log_is_whole()
    ids = [task.id for task in tasks]
    assert ids == sorted(set(ids))
