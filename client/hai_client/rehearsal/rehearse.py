"""Does a rehearsal: the first run, the notice, the end of the run, and the second run, which resumes."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from hai_client.rank.notices.signals import is_as_asked
from hai_client.rank.shared.times import rfc3339, seconds_of
from hai_client.rehearsal.evidence import RehearsalEvidence, resumed_from
from hai_client.rehearsal.facts import First, RehearsalFacts, Second
from hai_client.rehearsal.files import FolderWatcher
from hai_client.rehearsal.handlers import caught_by_all
from hai_client.rehearsal.turn import RehearsalRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from hai_client.rehearsal.plan import RehearsalPlan

#: Time between two looks, seconds.
TICK_S = 0.05
LOOK_AT_OPEN_FILES_EVERY_S = 0.25
#: The policy's default of the longest grace period, including extensions by `job.saving`, seconds.
MAX_GRACE_S = 1800.0
#: How long the second run goes on after it has resumed, seconds: the file that it read may be torn.
SETTLE_S = 3.0
#: Time limit for the second run to resume: at least this many seconds, and this multiple of the first run's time before
#: its notice, in which it had imported its packages and begun to train.
LEAST_THEN_S, THEN_TIMES = 20.0, 3.0
#: A killed process closes its files too: a file closed this shortly before the end may be torn, seconds.
CUT_S = 0.5


class BrokenRehearsal(Exception):
    """The rehearsal could not be done; the message is a sentence."""


class Rehearsal:
    """Rehearses a plan.

    Args:
        plan: The plan of a rehearsal.
        show: Called with the number of a run and a line of its output.
        say: Called with a message of the rehearsal itself.
    """

    def __init__(self, plan: RehearsalPlan, show: Callable[[int, str], None], say: Callable[[str], None]) -> None:
        self._plan = plan
        self._show = show
        self._say = say
        self._notes: list[str] = []
        #: Whether the text of the plan's `when` was printed.
        self._printed_when = False
        #: Time of the next look at open files, monotonic seconds.
        self._next_look = 0.0

    def run(self) -> RehearsalFacts:
        """Do the rehearsal, and return the facts.

        Raises:
            BrokenRehearsal: A run could not be supervised on this machine.
        """
        place = Path(tempfile.mkdtemp(prefix="hai-rehearsal-"))
        try:
            first, evidence = self._first(place)
            second = self._second(place, first, evidence) if first.told else None
            first = _saved_under_another_name(first, second, evidence)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        return RehearsalFacts(
            command=tuple(self._plan.command),
            profile=self._plan.profile,
            grace_s=self._plan.grace_s,
            first=first,
            second=second,
            notes=tuple(dict.fromkeys(self._notes)),
        )

    def _files(self, folders: list[str]) -> FolderWatcher:
        plan = self._plan
        watched = [path for path in plan.watch if Path(path).is_dir()]
        # For a file, watch its folder; for a missing path, the folder in which it will be made.
        above = [next(folder for folder in Path(path).parents if folder.is_dir()) for path in plan.watch]
        return FolderWatcher([str(plan.checkpoints), *watched], wide=[plan.cwd], folders=[*folders, *map(str, above)])

    def _open(
        self, place: Path, number: int, state: str | None, folders: list[str]
    ) -> tuple[RehearsalRun, FolderWatcher]:
        files = self._files(folders)
        try:
            turn = RehearsalRun(self._plan, number, place, state, lambda line: self._take_line(number, line))
        except BaseException:
            files.close()
            raise
        return turn, files

    # --- the first run

    def _first(self, place: Path) -> tuple[First, RehearsalEvidence]:
        turn, files = self._open(place, 1, self._plan.state, [])
        try:
            told_at, handlers = self._until_notice(turn, files)
            ended_at = None if told_at is None else self._until_gone(turn, files, told_at)
        finally:
            turn.close()
            files.close()
        self._notes += [files.incomplete] if files.incomplete else []
        status = turn.status()
        end = _end_of(turn, status)
        evidence = RehearsalEvidence(self._plan, files, turn.reports)
        start = seconds_of(status["started_at"]) or turn.started_at
        if told_at is None:
            before_s, code = end - start, status["exit_code"]
            return First(told=False, before_s=before_s, exit_code=code, trouble=turn.trouble()), evidence
        caught = status["caught"]
        polls = turn.mark("polling") is not None
        killed = not polls and caught is not True and status["exit_code"] != 0
        failed = ended_at is None and not is_as_asked(status["exit_code"], caught=caught)
        cut_after = end - CUT_S if failed else ended_at
        if killed and ended_at is None and not failed:
            # These profiles send their signal at once; with other profiles the time of the signal is unknown.
            profile = self._plan.profile
            at_once = (profile == "sigterm" or self._plan.signal is not None) and self._plan.signal_before_s is None
            cut_after = told_at if at_once else end - CUT_S
        last, saved, cut = evidence.around(told_at, cut_after, failed=failed)
        return (
            First(
                told=True,
                before_s=told_at - start,
                exit_code=status["exit_code"],
                leave_s=max(0.0, end - told_at),
                ended=ended_at is not None,
                polls=polls,
                caught=caught,
                handlers=handlers,
                said_done=status["done"],
                last=last,
                saved=saved,
                cut=cut,
                state=status["job_state"],
                trouble=turn.trouble(),
            ),
            evidence,
        )

    def _until_notice(self, turn: RehearsalRun, files: FolderWatcher) -> tuple[float | None, tuple[str, ...]]:
        """Wait until the notice is due. Return its time and the signals that the run catches; None if it has ended."""
        # The time counts from the start of the command, not of the supervisor.
        while not (turn.gone or (turn.status().get("pid") and self._may_count())):
            self._tick(turn, files)
        due = time.monotonic() + self._plan.after_s
        while time.monotonic() < due and not turn.gone:
            self._tick(turn, files)
        status = turn.status()
        main = status.get("pid")
        if turn.gone or not main or status.get("state") == "exited":
            return None, ()
        handlers = tuple(signal.Signals(number).name[3:] for number in sorted(caught_by_all(main)))
        now = time.time()
        if self._plan.profile == "kill":
            self._say("it is ended now, as the profile kill says, without a notice")
            return now, handlers
        self._say(f"it is told to leave now, and has {self._plan.grace_s:g} s")
        turn.service.notify(_notice(now, now + self._plan.grace_s))
        return now, handlers

    def _may_count(self) -> bool:
        return self._plan.when is None or self._printed_when

    def _take_line(self, number: int, line: str) -> None:
        if self._plan.when is not None and self._plan.when in line:
            self._printed_when = True
        self._show(number, line)

    def _until_gone(self, turn: RehearsalRun, files: FolderWatcher, told_at: float) -> float | None:
        """Wait until the run has left, or end it when the platform would; return when it was ended by force."""
        start = time.monotonic()
        deadline = start + (0 if self._plan.profile == "kill" else self._plan.grace_s)
        granted = 0
        while not turn.gone:
            wishes = [report for _, report in turn.reports if report["kind"] == "saving"]
            for wish in wishes[granted:]:
                wanted = min(time.monotonic() + float(wish.get("seconds", 0)), start + MAX_GRACE_S)
                if wanted > deadline:
                    deadline = wanted
                    self._say(f"it asks for {wish['seconds']:g} s to save, and gets them")
                    turn.service.notify(_notice(told_at, time.time() + deadline - time.monotonic()))
            granted = len(wishes)
            if turn.status().get("done"):
                # The platform waits for nothing else.
                turn.end()
                self._finish(turn, files)
                return None
            if time.monotonic() >= deadline:
                if self._plan.profile != "kill":
                    self._say("the deadline is over: it is ended")
                at = time.time()
                turn.end()
                self._finish(turn, files)
                return at
            self._tick(turn, files)
        return None

    # --- the second run

    def _second(self, place: Path, first: First, evidence: RehearsalEvidence) -> Second:
        self._say("it is started again")
        turn, files = self._open(place, 2, first.state, evidence.folders)
        plan = self._plan
        longest = max(LEAST_THEN_S, THEN_TIMES * first.before_s) if plan.then_s is None else plan.then_s
        begin = time.monotonic()
        end = begin + longest
        known: float | None = None
        try:
            while not turn.gone and time.monotonic() < end:
                if plan.then_s is None and known is None and resumed_from(turn, files, evidence, first.state):
                    known = time.monotonic()
                    end = min(end, known + SETTLE_S)
                self._tick(turn, files)
            itself = turn.gone
            if not itself:
                self._say("enough was seen: it is ended")
        finally:
            turn.close()
            files.close()
        self._notes += [files.incomplete] if files.incomplete else []
        found = resumed_from(turn, files, evidence, first.state)
        status = turn.status()
        start = seconds_of(status["started_at"]) or turn.started_at
        return Second(
            seconds=max(0.0, _end_of(turn, status) - start),
            exit_code=status["exit_code"] if itself else None,
            how=found.how if found else None,
            path=found.path if found else None,
            step=found.step if found else None,
            after_s=max(0.0, found.at - start) if found else None,
        )

    # ---

    def _tick(self, turn: RehearsalRun, files: FolderWatcher) -> None:
        turn.show_log()
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_AT_OPEN_FILES_EVERY_S
            for path in turn.open_checkpoints():
                files.add(os.path.dirname(path))  # noqa: PTH120
        time.sleep(TICK_S)

    def _finish(self, turn: RehearsalRun, files: FolderWatcher) -> None:
        while not turn.gone:
            self._tick(turn, files)


def _saved_under_another_name(first: First, second: Second | None, evidence: RehearsalEvidence) -> First:
    """Return the first run with the checkpoint that the second run has read."""
    if second is None or second.how != "read" or second.path is None or first.saved is not None:
        return first
    if second.path == first.cut:
        return first
    return evidence.with_saved(first, second.path)


def _notice(at: float, deadline: float) -> dict[str, Any]:
    return {
        "kind": "suspend",
        "reason": "preempted",
        "message": "this is a rehearsal of an interruption",
        "beneficiary": None,
        "at": rfc3339(int(at * 1e9)),
        "deadline": rfc3339(int(deadline * 1e9)),
    }


def _end_of(turn: RehearsalRun, status: dict[str, Any]) -> float:
    """Return when the run ended, seconds since the epoch. Raises BrokenRehearsal."""
    end = seconds_of(status.get("ended_at"))
    if status.get("start_error"):
        raise BrokenRehearsal(str(status["start_error"]))
    if end is None:
        why = turn.trouble().splitlines()[-1:] or ["its supervisor was killed"]
        raise BrokenRehearsal(f"the run could not be supervised here: {why[0]}")
    return end
