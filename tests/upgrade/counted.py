"""Tasks of `counting.py`, and what must be true of them, whatever becomes of the platform."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hai_client import Client
from hai_client.errors import HaiError
from kit.waiting import wait_for

PROGRAM = Path(__file__).with_name("counting.py")


@dataclass
class Counting:
    """A task of `counting.py`."""

    client: Callable[[], Client]  #: Of who has submitted it, at where the platform is now.
    id: int
    folder: Path  #: As this machine sees it.
    nodes: int

    @property
    def state(self) -> str:
        try:
            return str(self.client().task(self.id).state)
        except HaiError:
            return "unknown"

    def runs(self) -> list[tuple[Any, ...]]:
        """What no change of the platform may change of its runs."""
        return [
            (run.number, run.state, run.nodes, run.started_at, run.running_at, run.ended_at, run.reason)
            for run in self.client().runs(self.id)
        ]

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
        return [line.text for line in self.client().logs(self.id, rank=rank) if line.text.startswith("number ")]

    def assert_ended_once(self) -> None:
        """It has succeeded, once, and no line that it has printed is missing or doubled."""
        self.wait("succeeded")
        *before, last = (run[-1] for run in self.runs())
        assert (set(before) <= {"preempted", "paused"}, last) == (True, "succeeded"), self.runs()
        for rank in range(self.nodes):
            printed = self.printed(rank)
            assert self.log(rank) == [f"number {number}" for number in range(printed)]
