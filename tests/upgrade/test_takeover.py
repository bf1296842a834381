"""Another version takes a platform over, with tasks that run, wait and are suspended: forth, back, and forth again."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.conftest import BIN, Platform, processes_with
from kit.databases import empty_postgres, postgres_url
from upgrade.conftest import Release
from upgrade.counted import PROGRAM, Counting

pytestmark = pytest.mark.upgrade


@dataclass
class Story:
    """A platform that versions hand over to each other."""

    platform: Platform
    folder: Path

    def submit(self, name: str, nodes: int, priority: str) -> Counting:
        folder = self.folder / name
        folder.mkdir()
        words = ["submit", "--nodes", str(nodes), "--priority", priority, "--name", name]
        made = self.platform.json(*words, "--", "python3", str(PROGRAM), str(folder))
        return Counting(self.platform.client, int(made["id"]), folder, nodes)

    def processes(self, task: Counting) -> tuple[int, ...]:
        """The keepers and supervisors of a task's ranks, and what its ranks have started."""
        found = {*processes_with(f"{self.platform.state}/runs/{task.id}/"), *processes_with(str(task.folder))}
        return tuple(sorted(found))

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
    assert told.stdout, told.stderr
    plan = json.loads(told.stdout)
    assert (plan["runs"], plan["live_runs"], plan["database"]["problem"]) == (True, 2, None), plan
    assert told.returncode == int(plan["must"] is True)

    # To the new version: what runs does not notice.
    before = [(task.state, story.processes(task), task.runs()) for task in tasks]
    story.go_on_with(BIN)
    assert [(task.state, story.processes(task), task.runs()) for task in tasks] == before
    for task in (steady, urgent):
        task.counts_on()
    urgent.end()
    resumed.wait("running")
    resumed.counts_on()
    assert [run[0] for run in resumed.runs()] == [1, 2]
    tasks.append(story.submit("submitted-to-the-new", 1, "LOW"))

    # Back to the old one, which takes over runs that the new one has started.
    before = [(task.state, story.processes(task), task.runs()) for task in tasks]
    story.go_on_with(last.bin)
    assert [(task.state, story.processes(task), task.runs()) for task in tasks] == before
    for task in (steady, resumed):
        task.counts_on()
    resumed.end()
    waiting.counts_on()
    tasks.append(story.submit("submitted-to-the-old", 1, "LOW"))

    # And forth as Ctrl-C does it: what runs saves, leaves and goes on.
    story.stop_and_go_on_with(BIN)
    for task in (steady, waiting):
        task.counts_on()
        assert [run[0] for run in task.runs()] == [1, 2]
    for task in tasks:
        task.end()
    for task in tasks:
        task.assert_ended_once()
    ids = [task.id for task in tasks]
    assert ids == sorted(set(ids))
