"""Runs a case on the platform: starts it, has an urgent task interrupt it in the middle, and lets it come to an end."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from e2e.conftest import Platform
from frameworks.cases import SCRIPTS, Case
from hai_client.errors import Unavailable
from hai_client.wire.schema import TaskRequest
from kit.waiting import PATIENCE, wait_for

ROOT = Path(__file__).parents[2]
#: The virtual environment that `make test-frameworks` makes.
VENV = Path(os.environ.get("HAI_TEST_FRAMEWORKS", ROOT / ".venv-frameworks"))
#: The name of the environment on the platform.
ENVIRONMENT = "frameworks"
#: What launchers put before a line: srun with labels, and Ray, which colours it as well.
BEFORE = re.compile(r"^(\d+: |(\x1b\[[0-9;]*m)*\(\w+ pid=\d+\)(\x1b\[[0-9;]*m)* )")
#: Between two looks at the processes of a job, seconds.
LOOK_S = 0.03
OVER = ("succeeded", "failed", "stopped")


class Broken(Exception):
    """The case did not come to its end; the message says what was seen."""


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
    """The outcome of a case."""

    #: The task, as `hai status --json` shows it in the end.
    task: dict[str, Any]
    #: The output of `hai decisions` for the task.
    decisions: str
    lines: tuple[Line, ...]
    #: When the newest file of its checkpoints was changed, at the moment when its first run was over; seconds.
    newest: float | None
    #: When the framework wrote its index, without which it finds no checkpoint, for the last time; None: it has none.
    indexed: float | None
    #: When the last process of the job was gone, seconds; None if all were gone before the first look.
    gone: float | None

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The runs of the task."""
        return list(self.task["runs"])

    @property
    def left(self) -> str | None:
        """How the first run has left: saved, unknown or ended."""
        left: str | None = self.runs[0]["left"]
        return left

    @property
    def told_at(self) -> float:
        """When the notice was given."""
        return seconds(self.runs[0]["notice"]["at"])

    @property
    def leave_s(self) -> float:
        """Seconds from the notice until the nodes of the run were free."""
        return seconds(self.runs[0]["ended_at"]) - self.told_at

    @property
    def job_s(self) -> float:
        """Seconds from the notice until the job's last checkpoint was whole; 0 if it saved nothing after the notice."""
        after = [at for _, at in self.saved(1) if at >= self.told_at]
        return max(after[-1], self.indexed or 0.0) - self.told_at if after else 0.0

    @property
    def own_end_s(self) -> float:
        """Seconds from the job's last checkpoint until its last process was gone, where nobody but itself has ended it.

        That is so where all that were told have caught their signal, and no signal has ended a rank: Python then takes
        down what it has imported, and a launcher after it. The platform leaves such a job its time; 0 for any other.
        """
        ranks = self.runs[0]["ranks"]
        by_itself = all(rank.get("caught") and rank.get("signal") is None for rank in ranks)
        return max(0.0, self.gone - self.told_at - self.job_s) if by_itself and self.gone is not None else 0.0

    @property
    def rest_s(self) -> float:
        """Seconds from the notice until the nodes were free, without the job's own: until it has saved, and its end."""
        return self.leave_s - self.job_s - self.own_end_s

    @property
    def platform_s(self) -> float | None:
        """The platform's share: seconds until all ranks were told, plus those after the job's last process was gone."""
        if self.gone is None:
            return None
        first = self.runs[0]
        told = max(seconds(rank["notified_at"]) for rank in first["ranks"]) - self.told_at
        return max(0.0, told) + max(0.0, seconds(first["ended_at"]) - self.gone)

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
        """Seconds of the last save of the first run, as the run itself says."""
        found = self.numbers(r"saved step \d+ in ([0-9.]+) s", 1)
        return found[-1][0] if found else 0.0

    def log(self) -> str:
        """The whole log, for messages."""
        return "\n".join(f"{line.run} {'[hai] ' if line.platform else ''}{line.text}" for line in self.lines)


def seconds(text: str) -> float:
    """A time of the API as seconds since the epoch."""
    return datetime.fromisoformat(text).timestamp()


class Driver:
    """Runs cases, one after the other, on one platform."""

    def __init__(self, platform: Platform, folder: Path) -> None:
        #: The platform; ann is the user of the cases, and dee of the urgent tasks.
        self.platform = platform
        self._folder = folder
        platform.token("dee")
        python = str(VENV / "bin" / "python")
        platform.hai("admin", "environments", "set", ENVIRONMENT, "--for", "public", "--python", python)

    def run(self, case: Case) -> Outcome:
        """Start a case, interrupt it, let it resume, and return the outcome.

        Raises:
            Broken: It could not be submitted, or ended too soon, or in another state than `succeeded`.
        """
        place = self._folder / case.name
        # The user's own folder has all files of the case.
        shutil.copytree(SCRIPTS, place, ignore=shutil.ignore_patterns("__pycache__"))
        gates = {name: place / f".{name}" for name in ("pace", "urgent")}
        live: dict[str, int] = {}
        try:
            live["ann"] = task = self._submit(case, place, gates["pace"])
            self._wait_for_line(case, place, task)
            waits = f"until [ -e {shlex.quote(str(gates['urgent']))} ]; do sleep 0.05; done"
            live["dee"] = self._urgent(waits)
            gone = self._wait_until_it_has_left(task, place)
            newest, indexed = newest_file(place), changed_at(place / case.index) if case.index else None
            wait_for("the urgent task to run", lambda: self._state(live["dee"], "dee") == "running")
            gates["pace"].touch()
            gates["urgent"].touch()
            shown = wait_for("the task to end", lambda: self._over(task))
            outcome = Outcome(shown, self._decisions(task), self._story(case, place, task), newest, indexed, gone)
            if shown["state"] != "succeeded":
                others = self._other_ranks(task)
                raise Broken(f"it is {shown['state']}: {shown['message']}\n{outcome.log()}\n{others}")
            return outcome
        finally:
            for gate in gates.values():
                gate.touch()
            for user, number in live.items():
                self.platform.hai("stop", str(number), user=user, check=False)

    def _submit(self, case: Case, place: Path, gate: Path) -> int:
        if case.shell:
            words = ["bash", "-c", "set -o pipefail\n" + case.shell]
            done = self._in_shell(words, place, {"PACE_UNTIL": str(gate)})
        else:
            common = ["--name", case.name, "-e", f"PACE_UNTIL={gate}"]
            if not case.active:
                common += ["--environment", ENVIRONMENT, "-e", f"PYTHONPATH={ROOT / 'client'}"]
            done = self._in_shell(["hai", "--json", "submit", *common, *shlex.split(case.submit)], place, {})
        if done.returncode != 0:
            raise Broken(f"it could not be submitted (status {done.returncode}): {done.stderr}{done.stdout}")
        return int(json.loads(done.stdout)["id"] if not case.shell else done.stdout.split()[-1])

    def _in_shell(self, words: list[str], place: Path, added: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command in a shell of ann with an active venv."""
        path = f"{VENV / 'bin'}{os.pathsep}{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        env = self.platform.env | {"PATH": path, "VIRTUAL_ENV": str(VENV), "PWD": str(place)} | added
        return subprocess.run(
            words, cwd=place, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
        )  # fmt: skip

    def _urgent(self, line: str) -> int:
        """Submit an urgent task of dee on all nodes that runs a line of shell; returns its id."""
        request = TaskRequest(
            name="urgent",
            command=("sh", "-c", line),
            cwd=str(self._folder),
            nodes=self.platform.nodes,
            priority="VERY_HIGH",
            profile="kill",
        )
        return self.platform.client("dee").submit(request).id

    def _wait_until_it_has_left(self, number: int, place: Path) -> float | None:
        """Wait until the first run is over; returns when the last process of the job was gone."""
        seen, ends = None, time.monotonic() + PATIENCE
        while True:
            if works_in(place):
                seen = time.time()
            elif self.platform.client().task(number).runs[0].ended_at is not None:
                return seen
            time.sleep(LOOK_S)
            if time.monotonic() > ends:
                raise Broken(f"it did not leave within {PATIENCE:.0f} s:\n{self._text(number)}")

    def _state(self, number: int, user: str = "ann") -> str:
        return self.platform.client(user).task(number).state

    def _over(self, number: int) -> dict[str, Any] | None:
        if self._state(number) not in OVER:
            time.sleep(LOOK_S)
            return None
        shown: dict[str, Any] = self.platform.json("status", str(number))
        return shown

    def _text(self, number: int) -> str:
        return "\n".join(line.text for line in self._lines(number))

    def _decisions(self, number: int) -> str:
        return self.platform.hai("decisions", str(number)).stdout

    def _wait_for_line(self, case: Case, place: Path, number: int) -> None:
        text = case.middle

        def there() -> bool:
            if any(line.text == text for line in self._story(case, place, number)):
                return True
            if self._state(number) in OVER:
                seen = f"{self._text(number)}\n{self._other_ranks(number)}"
                raise Broken(f"it ended before it had printed {text!r}:\n{seen}")
            time.sleep(0.2)
            return False

        wait_for(f"{text!r} in the log", there)

    def _other_ranks(self, number: int) -> str:
        ranks = range(1, self.platform.client().task(number).nodes)
        return "\n".join(self.platform.hai("logs", str(number), "-r", str(rank), check=False).stdout for rank in ranks)

    def _story(self, case: Case, place: Path, number: int) -> tuple[Line, ...]:
        """The lines of the task's log and of its own log files; of lines that a launcher wrote twice, the first."""
        lines = self._lines(number)
        if case.own_log:
            lines += own_lines("".join(file.read_text() for file in sorted(place.glob(case.own_log))))
        if not case.repeats:
            return tuple(lines)
        first: dict[tuple[int, str], Line] = {}
        for line in lines:
            first.setdefault((line.run, line.text), line)
        return tuple(first.values())

    def _lines(self, number: int) -> list[Line]:
        try:
            found = list(self.platform.client().logs(number))
        except Unavailable:
            return []
        return [
            Line(one.run, one.at.timestamp() if one.at else 0.0, one.rank is None, BEFORE.sub("", one.text))
            for one in found
        ]


def own_lines(text: str) -> list[Line]:
    """The lines of a log that a training writes itself, without times; a line with `resumed` begins run 2."""
    lines, run = [], 1
    for line in text.splitlines():
        run = 2 if line.startswith("resumed") else run
        lines.append(Line(run, 0.0, False, line))
    return lines


def works_in(place: Path) -> bool:
    """Whether any process has its working folder there, or below."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                folder = (entry / "cwd").readlink()
            except OSError:
                continue
            if folder.is_relative_to(place):
                return True
    return False


def newest_file(place: Path) -> float | None:
    """When the newest file of the checkpoints below a folder was changed; None if there is none."""
    found = [path.stat().st_mtime for path in place.rglob("*") if path.is_file() and is_checkpoint(path, place)]
    return max(found, default=None)


def changed_at(path: Path) -> float | None:
    """When a file was changed; None if there is none."""
    return path.stat().st_mtime if path.exists() else None


def is_checkpoint(path: Path, place: Path) -> bool:
    """Whether a file is one of a checkpoint: of the folder `checkpoints`, or of Lightning, which saves where it is."""
    return "checkpoints" in path.relative_to(place).parts or path.suffix == ".ckpt"
