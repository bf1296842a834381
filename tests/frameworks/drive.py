"""Runs a case on the platform: starts it, has an urgent task interrupt it in the middle, and lets it come to its end."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from e2e.conftest import PATIENCE, Platform, wait_for
from frameworks.cases import SCRIPTS, Case
from hai_client.errors import Unavailable

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv-frameworks"
#: What an admin calls it on the platform.
ENVIRONMENT = "frameworks"
OVER = ("succeeded", "failed", "stopped")


class Broken(Exception):
    """The case did not come to its end; says what was seen."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the log of rank 0."""

    run: int
    #: Seconds since the epoch.
    at: float
    #: Whether the platform wrote it.
    platform: bool
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was seen of a case."""

    #: The task, as `hai status --json` shows it in the end.
    task: dict[str, Any]
    #: What `hai decisions` said of it.
    decisions: str
    lines: tuple[Line, ...]
    #: When the newest file of its checkpoints was changed, at the moment when its first run was over; seconds.
    newest: float | None

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Its runs."""
        return list(self.task["runs"])

    @property
    def left(self) -> str | None:
        """The word about the saving of the first run."""
        first = self.runs[0]
        if "left" in first:
            return first["left"]
        # As it was before there were three words.
        return {True: "saved", False: "ended", None: None}[first["clean"]]

    @property
    def told_at(self) -> float:
        """When the notice was given."""
        return seconds(self.runs[0]["notice"]["at"])

    @property
    def leave_s(self) -> float:
        """From the notice until its nodes were free."""
        return seconds(self.runs[0]["ended_at"]) - self.told_at

    @property
    def job_s(self) -> float:
        """From the notice until the job's last checkpoint was whole; 0 if it saved nothing after it."""
        after = [at for _, at in self.saved(1) if at >= self.told_at]
        return after[-1] - self.told_at if after else 0.0

    def numbers(self, pattern: str, run: int) -> list[tuple[float, float]]:
        """The first number in each line of a run that matches, with the line's time."""
        found = ((re.fullmatch(pattern, line.text), line.at) for line in self.lines if line.run == run)
        return [(float(match[1]), at) for match, at in found if match]

    def steps(self, run: int) -> list[int]:
        """The steps that a run says it did."""
        return [int(number) for number, _ in self.numbers(r"step (\d+)", run)]

    def saved(self, run: int) -> list[tuple[int, float]]:
        """The steps at which a run says it saved, and when."""
        return [(int(number), at) for number, at in self.numbers(r"saved step (\d+) in [0-9.]+ s", run)]

    def saving_s(self) -> float:
        """How long the last saving of the first run took, by its own account."""
        found = self.numbers(r"saved step \d+ in ([0-9.]+) s", 1)
        return found[-1][0] if found else 0.0

    def log(self) -> str:
        """All of it, for messages."""
        return "\n".join(f"{line.run} {'[hai] ' if line.platform else ''}{line.text}" for line in self.lines)


def seconds(text: str) -> float:
    """Seconds since the epoch."""
    return datetime.fromisoformat(text).timestamp()


class Driver:
    """Cases, one after the other, on one platform."""

    def __init__(self, platform: Platform, folder: Path) -> None:
        self._platform = platform
        self._folder = folder
        platform.token("dee")
        python = str(VENV / "bin" / "python")
        platform.hai("admin", "environments", "set", ENVIRONMENT, "--for", "public", "--python", python)

    def run(self, case: Case) -> Outcome:
        """Start it, interrupt it, resume it, and look.

        Raises:
            Broken: It could not be submitted, or ended too soon, or in another state than `succeeded`.
        """
        place = self._folder / case.name
        place.mkdir()
        gates = {name: place / f".{name}" for name in ("pace", "urgent")}
        live: dict[str, int] = {}
        try:
            live["ann"] = task = self._submit(case, place, gates["pace"])
            self._wait_for_line(task, case.middle)
            waits = f"until [ -e {shlex.quote(str(gates['urgent']))} ]; do sleep 0.05; done"
            live["dee"] = self._platform.json(
                "submit", "--nodes", str(self._platform.nodes), "--priority", "VERY_HIGH", "--name", "urgent",
                "--profile", "kill", "--", "sh", "-c", waits, user="dee",
            )["id"]  # fmt: skip
            wait_for("the first run to end", lambda: self._task(task)["runs"][0]["ended_at"], PATIENCE)
            newest = newest_file(place)
            wait_for("the urgent task to run", lambda: self._task(live["dee"], "dee")["state"] == "running")
            gates["pace"].touch()
            gates["urgent"].touch()
            shown = wait_for("the task to end", lambda: self._over(task))
            outcome = Outcome(shown, self._decisions(task), tuple(self._lines(task)), newest)
            if shown["state"] != "succeeded":
                raise Broken(f"it is {shown['state']}: {shown['message']}\n{outcome.log()}")
            return outcome
        finally:
            for gate in gates.values():
                gate.touch()
            for user, number in live.items():
                self._platform.hai("stop", str(number), user=user, check=False)

    def _submit(self, case: Case, place: Path, gate: Path) -> int:
        words = shlex.split(case.submit.format(here=SCRIPTS))
        if case.shell:
            line, added = case.shell.format(here=SCRIPTS), {"PACE_UNTIL": str(gate), "SCRIPTS": str(SCRIPTS)}
            done = self._in_shell(["bash", "-c", "set -o pipefail\n" + line], place, added)
        else:
            common = ["--name", case.name, "-e", f"PACE_UNTIL={gate}"]
            if not case.active:
                common += ["--environment", ENVIRONMENT, "-e", f"PYTHONPATH={ROOT / 'client'}"]
            done = self._in_shell(["hai", "--json", "submit", *common, *words], place, {})
        if done.returncode != 0:
            raise Broken(f"it could not be submitted (status {done.returncode}): {done.stderr}{done.stdout}")
        return int(json.loads(done.stdout)["id"] if not case.shell else done.stdout.split()[-1])

    def _in_shell(self, words: list[str], place: Path, added: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """A command in a shell of ann, whose venv is active."""
        path = f"{VENV / 'bin'}{os.pathsep}{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        env = self._platform.env | {"PATH": path, "VIRTUAL_ENV": str(VENV), "PWD": str(place)} | added
        return subprocess.run(
            words, cwd=place, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
        )  # fmt: skip

    def _task(self, number: int, user: str = "ann") -> dict[str, Any]:
        shown: dict[str, Any] = self._platform.json("status", str(number), user=user)
        return shown

    def _over(self, number: int) -> dict[str, Any] | None:
        shown = self._task(number)
        return shown if shown["state"] in OVER else None

    def _decisions(self, number: int) -> str:
        return self._platform.hai("decisions", str(number)).stdout

    def _wait_for_line(self, number: int, text: str) -> None:
        def there() -> bool:
            if any(line.text == text for line in self._lines(number)):
                return True
            if self._over(number):
                log = "\n".join(line.text for line in self._lines(number))
                raise Broken(f"it ended before it had printed {text!r}:\n{log}\n{self._other_ranks(number)}")
            time.sleep(0.2)
            return False

        wait_for(f"{text!r} in the log", there)

    def _other_ranks(self, number: int) -> str:
        ranks = range(1, int(self._task(number)["nodes"]))
        return "\n".join(self._platform.hai("logs", str(number), "-r", str(rank), check=False).stdout for rank in ranks)

    def _lines(self, number: int) -> list[Line]:
        try:
            found = list(self._platform.client().logs(number))
        except Unavailable:
            return []
        # What a colleague's launcher puts before a line (`0: `) is no part of it.
        return [
            Line(one.run, one.at.timestamp() if one.at else 0.0, one.rank is None, re.sub(r"^\d+: ", "", one.text))
            for one in found
        ]


def newest_file(place: Path) -> float | None:
    """When the newest file of the checkpoints below a folder was changed; None if there is none."""
    found = [path.stat().st_mtime for path in place.rglob("*") if path.is_file() and is_checkpoint(path, place)]
    return max(found, default=None)


def is_checkpoint(path: Path, place: Path) -> bool:
    """Whether a file is one of a checkpoint: of the folder `checkpoints`, or of Lightning, which saves where it is."""
    return "checkpoints" in path.relative_to(place).parts or path.suffix == ".ckpt"
