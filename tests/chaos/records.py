"""Records of a chaos run: by the ranks, by the clients, and by the platform at the end."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hai_client.wire.schema import Event, LogLine, Task

#: How lines of the platform begin.
OURS = "[hai]"
ENDED = frozenset({"succeeded", "failed", "stopped"})


@dataclass(frozen=True)
class Line:
    """One line of a rank's journal."""

    what: str
    #: Seconds since the epoch.
    t: float
    step: int = 0
    #: The rank that held the lock of the node.
    by: str = ""


@dataclass(frozen=True)
class RankStory:
    """One start of one rank, as its journal tells it."""

    key: str
    task: int
    run: int
    rank: int
    ranks: int
    node: str
    shape: str
    steps: int
    lines: tuple[Line, ...]
    #: Whether the journal was there before this start.
    again: bool = False

    @property
    def name(self) -> str:
        """The name of the rank in locks and in lines of logs."""
        return f"{self.task}.{self.run}.{self.rank}"

    @property
    def began(self) -> float:
        """The time of the first line, in seconds since the epoch."""
        return self.lines[0].t

    @property
    def last(self) -> float:
        """The time of the last line, in seconds since the epoch."""
        return self.lines[-1].t

    @property
    def done(self) -> list[int]:
        """The steps that the rank did, in the order in which it did them."""
        return [line.step for line in self.lines if line.what == "step"]

    def said(self, what: str) -> list[Line]:
        """The lines of the rank whose kind is `what`."""
        return [line for line in self.lines if line.what == what]

    @property
    def finished(self) -> bool:
        """Whether the rank did all of its work."""
        return bool(self.said("finished"))


@dataclass(frozen=True)
class RankSeen:
    """A rank as the platform shows it."""

    rank: int
    node: str
    exit_code: int | None = None
    notified: bool = False


@dataclass(frozen=True)
class RunSeen:
    """A run as the platform shows it. Times are seconds since the epoch."""

    number: int
    reason: str | None
    started_at: float
    ended_at: float | None
    ranks: tuple[RankSeen, ...]
    #: When ranks that have not left are ended, with a signal first; None: the run had no notice.
    deadline: float | None = None


@dataclass(frozen=True)
class TaskSeen:
    """A task as the platform shows it at the end."""

    id: int
    name: str
    state: str
    nodes: int = 1
    runs: tuple[RunSeen, ...] = ()


@dataclass(frozen=True)
class Strange:
    """A wrong answer that a client got to a correct request."""

    #: Seconds since the epoch.
    t: float
    asked: str
    answer: str


@dataclass
class Records:
    """All that was recorded in a chaos run."""

    ranks: list[RankStory] = field(default_factory=list)
    #: Submissions that were accepted: the task's id by the name that was submitted.
    accepted: dict[str, int] = field(default_factory=dict)
    #: Names of all tasks that clients tried to submit.
    sent: set[str] = field(default_factory=set)
    tasks: list[TaskSeen] = field(default_factory=list)
    #: Numbers of the events: as a client followed them during all strikes, and as the feed tells them afterwards.
    feed: list[int] = field(default_factory=list)
    feed_afterwards: list[int] = field(default_factory=list)
    #: By task, lines of the log of rank 0 as a client followed them, as (run, text).
    followed: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    #: Lines of logs by task and rank, read at the end; only of some tasks in a long run.
    logs: dict[tuple[int, int], list[tuple[int, str]]] = field(default_factory=dict)
    strange: list[Strange] = field(default_factory=list)
    #: Strikes after which the platform did not become healthy again, and processes that were left at the end.
    stuck: list[str] = field(default_factory=list)
    #: How often each strike hit a process, and how often it found none to hit.
    hit: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    left_over: list[str] = field(default_factory=list)

    def runs(self) -> dict[tuple[int, int], list[RankStory]]:
        """The ranks' stories by task and run, each run's in the order of ranks."""
        found: dict[tuple[int, int], list[RankStory]] = defaultdict(list)
        for story in sorted(self.ranks, key=lambda story: (story.task, story.run, story.rank)):
            found[story.task, story.run].append(story)
        return found

    def task(self, number: int) -> TaskSeen | None:
        """The task with that id as the platform shows it; None if it shows none."""
        return next((task for task in self.tasks if task.id == number), None)


def stories(folder: Path) -> list[RankStory]:
    """Read the journals of the ranks."""
    found = []
    for file in sorted(folder.glob("*.jsonl")):
        # The last line of a machine that lost power may be cut; of a killed process it never is.
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        if lines:
            found.append(_story(lines, again=".again." in file.name))
    return found


def _story(lines: Sequence[Mapping[str, Any]], *, again: bool) -> RankStory:
    start = lines[0]
    return RankStory(
        **{name: start[name] for name in ("key", "task", "run", "rank", "ranks", "node", "shape", "steps")},
        lines=tuple(Line(line["what"], line["t"], line.get("step", 0), line.get("by", "")) for line in lines),
        again=again,
    )


def seen(task: Task) -> TaskSeen:
    """The record of a task from the client's answer."""
    return TaskSeen(
        task.id,
        task.name,
        task.state,
        task.nodes,
        tuple(
            RunSeen(
                run.number,
                run.reason,
                run.started_at.timestamp(),
                None if run.ended_at is None else run.ended_at.timestamp(),
                tuple(RankSeen(r.rank, r.node, r.exit_code, r.notified_at is not None) for r in run.ranks),
                None if run.notice is None else run.notice.deadline.timestamp(),
            )
            for run in task.runs
        ),
    )


def own_lines(lines: Iterable[LogLine]) -> list[tuple[int, str]]:
    """What the ranks printed themselves, without the platform's own lines."""
    # The log of a rank also has lines of its supervisor.
    return [(line.run, line.text) for line in lines if line.rank is not None and not line.text.startswith(OURS)]


def numbers(events: Iterable[Event]) -> list[int]:
    """The numbers of the events."""
    return [event.seq for event in events]
