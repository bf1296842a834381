"""Reads the options of `squeue` and `sacct`: which jobs are asked for, and what is shown of them.

Options of Slurm that choose nothing here are accepted: tools give them out of habit.
"""

from __future__ import annotations

import os

from hai_slurm.shared.columns import ENDED, SACCT_FIELDS, SACCT_VALUES, SHORT, SQUEUE_LETTERS, SQUEUE_NAMES
from hai_slurm.shared.getting import BadOption, KnownOptions
from hai_slurm.shared.tables import Table, by_fields, chosen
from hai_slurm.shared.times import point_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

_SQUEUE_FORMAT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
_LONG_FORMAT = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
_START_FORMAT = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
_SACCT_FORMAT = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
_BRIEF_FORMAT = "JobID,State,ExitCode"
#: Options of both commands without a letter.
_OTHERS = {
    "job": "jobs=", "users": "user=", "uid": "user=", "name": "name=", "account": "accounts=", "state": "states=",
    "partitions": "partition=", "cluster": "clusters=", "group": "gid=", "array": "array", "array-unique": "array",
    "units": "units=", "noconvert": "noconvert", "federation": "federation", "local": "local", "json": "json",
    "yaml": "yaml", "expand-patterns": "patterns",
}  # fmt: skip
_SQUEUE = KnownOptions(
    {
        "A": "accounts=", "a": "all", "h": "noheader", "i": "iterate=", "j": "jobs=", "l": "long", "L": "licenses=",
        "M": "clusters=", "n": "name=", "o": "format=", "O": "Format=", "p": "partition=", "P": "priority",
        "q": "qos=", "R": "reservation=", "r": "array", "s": "steps", "S": "sort=", "t": "states=", "u": "user=",
        "v": "verbose", "w": "nodelist=",
    },
    {**_OTHERS, "me": "me", "start": "start", "sibling": "sibling", "hide": "hide", "step": "steps"},
)  # fmt: skip
_SACCT = KnownOptions(
    {
        "A": "accounts=", "a": "allusers", "b": "brief", "B": "batch-script", "c": "completion", "D": "duplicates",
        "e": "helpformat", "E": "endtime=", "f": "file=", "F": "flags=", "g": "gid=", "i": "nnodes=", "I": "ncpus=",
        "j": "jobs=", "k": "timelimit-min=", "K": "timelimit-max=", "l": "long", "L": "allclusters", "M": "clusters=",
        "n": "noheader", "N": "nodelist=", "o": "format=", "p": "parsable", "P": "parsable2", "q": "qos=",
        "r": "partition=", "R": "reason=", "s": "states=", "S": "starttime=", "T": "truncate", "u": "user=",
        "v": "verbose", "W": "wckeys=", "x": "associations=", "X": "allocations",
    },
    {**_OTHERS, "delimiter": "delimiter=", "env-vars": "batch-script", "whole-hetjob": "het", "use-local-uid": "local"},
)  # fmt: skip
#: Options that would ask for another table, with the remedy.
_REFUSED = {
    "json": "HAI prints tables here; `hai list --json` prints JSON",
    "yaml": "HAI prints tables here; `hai list --json` prints JSON",
    "steps": "HAI keeps no account of steps: leave it out",
    "iterate": "HAI prints once: call it in a loop, or see `hai top`",
    "batch-script": "`hai status ID` shows what a task runs",
}
_LISTS = {
    "jobs": "jobs", "user": "users", "name": "names", "partition": "partitions", "qos": "qos", "nodelist": "nodes",
}  # fmt: skip


class Query:
    """Which jobs are asked for, and what is shown of them."""

    def __init__(self) -> None:
        self.jobs: list[str] = []
        self.users: list[str] = []
        self.names: list[str] = []
        self.partitions: list[str] = []
        self.qos: list[str] = []
        self.nodes: list[str] = []
        #: Long names; empty: those that the command shows by itself.
        self.states: set[str] = set()
        self.mine = False
        #: Whether only waiting jobs are asked for, with the times of their starts.
        self.starts = False
        self.since: datetime | None = None
        self.until: datetime | None = None
        #: Names of values, each with `-` before it to begin with the greatest.
        self.order: list[str] = []
        self.table = Table(())
        #: Whether the names of fields are asked for, and no jobs.
        self.fields = False

    @property
    def ended(self) -> bool:
        """Whether jobs that have ended are asked for by their state."""
        return bool(self.states & ENDED)

    def take(self, name: str, text: str) -> None:
        """Take an option that both commands have. Raises BadOption."""
        if name in _REFUSED:
            raise BadOption(f"--{name}: {_REFUSED[name]}")
        if name in _LISTS:
            found: list[str] = getattr(self, _LISTS[name])
            found += [word.strip() for word in text.split(",") if word.strip()]
        elif name == "states":
            self.states |= states_of(text)
        elif name == "me":
            self.mine = True
        elif name == "start":
            self.starts = True
        elif name == "starttime":
            self.since = point_of(text, name)
        elif name == "endtime":
            self.until = point_of(text, name)
        elif name == "sort":
            self.order += _order(text)

    def wanted(self, rows: Iterable[Mapping[str, str]], me: str) -> list[Mapping[str, str]]:
        """Return the rows that the options choose, in their order.

        Args:
            rows: The rows of jobs.
            me: The user who asks.
        """
        users = {*self.users, *([me] if self.mine else [])}
        ids = {number_of(job) for job in self.jobs}
        chosen = [
            row
            for row in rows
            if (not ids or row["JOBID"] in ids)
            and (not users or row.get("USER") in users)
            and (not self.states or row["STATE"] in self.states)
            and (not self.starts or row["STATE"] == "PENDING")
            and (not self.names or row.get("NAME") in self.names)
            and (not self.partitions or row.get("PARTITION") in self.partitions)
            and (not self.qos or row.get("QOS", "").lower() in {one.lower() for one in self.qos})
            and (not self.nodes or set(row.get("NODELIST", "").split(",")) & set(self.nodes))
        ]
        for key in reversed(self.order):
            chosen.sort(key=lambda row: _sortable(row.get(key.lstrip("-"), "")), reverse=key.startswith("-"))
        return chosen

    def lines(self, rows: Iterable[Mapping[str, str]], me: str) -> list[str]:
        """Return the lines of the table of those rows that the options choose."""
        return self.table.lines(self.wanted(rows, me))


def number_of(job: str) -> str:
    """Return the number of a job that is named with a step or an index: `41.batch`, `41_3`, `41_[1-3]`, `41+0`."""
    return job.partition(".")[0].partition("_")[0].partition("+")[0].strip()


def states_of(text: str) -> set[str]:
    """Return the long names of states; empty stands for all that are usual. Raises BadOption."""
    long = {short: name for name, short in SHORT.items()}
    found: set[str] = set()
    for word in text.upper().replace(" ", "").split(","):
        if word == "ALL":
            found |= set(SHORT)
        elif word in SHORT or word in long:
            found.add(long.get(word, word))
        elif word:
            raise BadOption(f"--state={text}: {word!r} is no state of Slurm's; they are {', '.join(SHORT)}")
    return found


def _given(known: KnownOptions, words: Sequence[str]) -> list[tuple[str, str]]:
    given, rest = known.split(words)
    if rest:
        raise BadOption(f"{rest[0]}: a word too many; jobs are named with --jobs={rest[0]}")
    return given


def read_squeue(words: Sequence[str]) -> Query:
    """Read the options of `squeue`. Raises BadOption."""
    query = Query()
    given = _given(_SQUEUE, words)
    for name, value in given:
        query.take(name, value)
    usual = _START_FORMAT if query.starts else _LONG_FORMAT if ("long", "") in given else None
    usual = usual or os.environ.get("SQUEUE_FORMAT") or _SQUEUE_FORMAT
    query.table = chosen(given, usual, SQUEUE_LETTERS, SQUEUE_NAMES)
    return query


def read_sacct(words: Sequence[str]) -> Query:
    """Read the options of `sacct`. Raises BadOption."""
    query = Query()
    text, between, delimiter, closed, header = os.environ.get("SACCT_FORMAT") or _SACCT_FORMAT, False, "|", False, True
    for name, value in _given(_SACCT, words):
        if name == "format":
            text = value
        elif name == "brief":
            text = _BRIEF_FORMAT
        elif name == "long":
            text = ",".join(field for field in SACCT_FIELDS if field in SACCT_VALUES)
        elif name in ("parsable", "parsable2"):
            between, closed = True, name == "parsable"
        elif name == "delimiter":
            delimiter = value
        elif name == "noheader":
            header = False
        elif name == "helpformat":
            query.fields = True
        else:
            query.take(name, value)
    query.table = by_fields(text, delimiter if between else None, closed=closed)
    query.table.header = header
    return query


def fields() -> list[str]:
    """Return the lines of `sacct --helpformat`."""
    rows = [SACCT_FIELDS[at : at + 4] for at in range(0, len(SACCT_FIELDS), 4)]
    return ["".join(f"{field:<20}" for field in row) for row in rows]


def _order(text: str) -> list[str]:
    found = []
    for word in text.split(","):
        letter = word.strip().lstrip("+-")
        if letter in SQUEUE_LETTERS:
            found.append(("-" if word.strip().startswith("-") else "") + SQUEUE_LETTERS[letter])
    return found


def _sortable(text: str) -> tuple[int, int, str]:
    return (0, int(text), "") if text.isdigit() else (1, 0, text)
