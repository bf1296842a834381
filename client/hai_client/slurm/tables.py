"""Tables of jobs as `squeue` and `sacct` print them: the chosen columns and their widths.

A job is a row: a dictionary of texts with the keys `NAMES`. It comes from the API or from the variables of a task.
matter here.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Letters of `squeue --format`.
_LETTERS = {
    "A": "JOBID", "i": "JOBID", "j": "NAME", "u": "USER", "P": "PARTITION", "T": "STATE", "t": "ST", "M": "TIME",
    "l": "TIME_LIMIT", "L": "TIME_LEFT", "D": "NODES", "N": "NODELIST", "R": "NODELIST(REASON)", "r": "REASON",
    "V": "SUBMIT_TIME", "S": "START_TIME", "e": "END_TIME", "Q": "PRIORITY", "q": "QOS", "a": "ACCOUNT",
    "Z": "WORK_DIR",
}  # fmt: skip
#: Names of `sacct --format`, in lower case, and the column that each shows.
_NAMES = {
    "jobid": "JOBID", "jobidraw": "JOBID", "jobname": "NAME", "user": "USER", "account": "ACCOUNT",
    "partition": "PARTITION", "state": "STATE", "exitcode": "EXITCODE", "nodelist": "NODELIST", "nnodes": "NODES",
    "allocnodes": "NODES", "elapsed": "TIME", "timelimit": "TIME_LIMIT", "submit": "SUBMIT_TIME", "start": "START_TIME",
    "end": "END_TIME", "qos": "QOS", "priority": "PRIORITY", "workdir": "WORK_DIR", "reason": "REASON",
    "restarts": "RESTARTS",
}  # fmt: skip
#: Every column that a row may have.
NAMES = frozenset(_LETTERS.values()) | frozenset(_NAMES.values())
#: Short names of states.
SHORT = {
    "PENDING": "PD", "RUNNING": "R", "COMPLETED": "CD", "FAILED": "F", "CANCELLED": "CA", "TIMEOUT": "TO",
    "COMPLETING": "CG", "CONFIGURING": "CF", "SUSPENDED": "S",
}  # fmt: skip
_SQUEUE_FORMAT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
_SACCT_FORMAT = "JobID,JobName%10,Partition%10,Account%10,State%10,ExitCode"
#: Options with a list, and the field that gets it.
_LISTS = {
    "j": "jobs", "job": "jobs", "jobs": "jobs", "u": "users", "user": "users", "users": "users", "uid": "users",
    "n": "names", "name": "names",
}  # fmt: skip
#: Options without effect: HAI keeps all tasks, and its tables show no steps.
_SACCT_NEEDLESS = frozenset(
    {"allocations", "allusers", "duplicates", "S", "starttime", "E", "endtime", "units", "array"}
)
_COLUMN = re.compile(r"%(\.)?(\d*)([a-zA-Z])")


class TableError(ValueError):
    """The table cannot be shown; the message names the possible values."""


class Query:
    """The parsed options: jobs and columns."""

    def __init__(self) -> None:
        self.jobs: list[str] = []
        self.users: list[str] = []
        #: Long names, upper case.
        self.states: set[str] = set()
        self.names: list[str] = []
        self.mine = False
        self.header = True
        #: The separator of columns; None: padded columns.
        self.between: str | None = None
        self.after = ""
        #: Title, column, width (0: unlimited), and whether it is aligned right.
        self.columns: list[tuple[str, str, int, bool]] = []

    def take(self, name: str, value: str) -> bool:
        """Take an option that both commands have; return whether it is one."""
        if name in _LISTS:
            found: list[str] = getattr(self, _LISTS[name])
            found += value.split(",")
        elif name in ("t", "states", "s", "state"):
            self.states |= _states(value)
        elif name == "me":
            self.mine = True
        elif name == "noheader":
            self.header = False
        else:
            return False
        return True


def read_squeue(words: Sequence[str]) -> Query:
    """Parse the options of `squeue`. Raises TableError."""
    query, text = Query(), _SQUEUE_FORMAT
    for name, value in _options(words, "jutonp", {"h": "noheader", "a": "all", "l": "long", "r": "array"}):
        if name in ("o", "format"):
            text = value
        elif not query.take(name, value) and name not in ("all", "long", "array"):
            raise TableError(f"--{name}: not an option that HAI knows of; known are -j -u -t -n -o -h --me")
    at = 0
    for match in _COLUMN.finditer(text):
        if match.group(3) not in _LETTERS:
            known = "".join(sorted(_LETTERS))
            raise TableError(f"--format: {match.group(0)!r} is not shown by HAI; known are the letters {known}")
        head = _LETTERS[match.group(3)]
        between = text[at : match.start()]
        query.columns.append((between + "\0" + head, head, int(match.group(2) or 0), bool(match.group(1))))
        at = match.end()
    query.after = text[at:]
    return query


def read_sacct(words: Sequence[str]) -> Query:
    """Parse the options of `sacct`. Raises TableError."""
    query, text = Query(), _SACCT_FORMAT
    plain = {"n": "noheader", "P": "parsable2", "p": "parsable", "X": "allocations", "a": "allusers", "D": "duplicates"}
    for name, value in _options(words, "jouSEs", plain):
        if name in ("o", "format"):
            text = value
        elif name in ("parsable", "parsable2"):
            query.between, query.after = "|", "|" if name == "parsable" else ""
        elif not query.take(name, value) and name not in _SACCT_NEEDLESS:
            raise TableError(f"--{name}: not an option that HAI knows of; known are -j -o -u -s -n -p -P -X")
    for word in text.split(","):
        head, _, width = word.strip().partition("%")
        if head.lower() not in _NAMES:
            raise TableError(f"--format: {head!r} is not shown by HAI; known are {', '.join(sorted(_NAMES))}")
        number = int(width.lstrip("-")) if width.lstrip("-").isdigit() else 12
        query.columns.append((head, _NAMES[head.lower()], number, not width.startswith("-")))
    return query


def _states(text: str) -> set[str]:
    long = {short: name for name, short in SHORT.items()}
    return {long.get(word.upper(), word.upper()) for word in text.split(",")} - {"ALL"}


def _options(words: Sequence[str], short: str, plain: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Split words into options and values; `short` are letters with a value, `plain` letters without one."""
    waiting = list(words)
    bare = {*plain.values(), "me"}
    while waiting:
        word = waiting.pop(0)
        if word.startswith("--"):
            name, given, value = word[2:].partition("=")
            if not given and name not in bare:
                value = waiting.pop(0) if waiting else ""
            yield name, value
        elif word.startswith("-") and len(word) > 1:
            letters = word[1:]
            while letters:
                letter, letters = letters[0], letters[1:]
                if letter in plain:
                    yield plain[letter], ""
                elif letter in short:
                    yield letter, letters or (waiting.pop(0) if waiting else "")
                    letters = ""
                else:
                    raise TableError(f"-{letter}: not an option that HAI knows of")
        else:
            raise TableError(f"{word}: a word too many")


def wanted(query: Query, jobs: Iterable[Mapping[str, str]], me: str) -> list[Mapping[str, str]]:
    """Return the jobs that the options select."""
    users = {*query.users, *([me] if query.mine else [])}
    ids = {job.partition(".")[0].partition("_")[0] for job in query.jobs}
    return [
        job
        for job in jobs
        if (not ids or job["JOBID"] in ids)
        and (not users or job.get("USER") in users)
        and (not query.states or job["STATE"] in query.states)
        and (not query.names or job.get("NAME") in query.names)
    ]


def lines(query: Query, jobs: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the lines of the table."""
    rows = [[head for head, *_ in query.columns]] if query.header else []
    rows += [[job.get(name, "") for _, name, *_ in query.columns] for job in jobs]
    if query.columns and "\0" in query.columns[0][0]:
        return [_formatted(query, row) for row in rows]
    if query.between is not None:
        return [query.between.join(row) + query.after for row in rows]
    padded = [
        " ".join(_fit(text, width, right) for text, (_, _, width, right) in zip(row, query.columns)) for row in rows
    ]
    if query.header:
        padded.insert(1, " ".join("-" * width for _, _, width, _ in query.columns))
    return padded


def _formatted(query: Query, row: Sequence[str]) -> str:
    text = ""
    for value, (head, _, width, right) in zip(row, query.columns):
        between, _, _ = head.partition("\0")
        text += between + _fit(value.rpartition("\0")[2], width, right)
    return text + query.after


def _fit(text: str, width: int, right: bool) -> str:
    if not width:
        return text
    return text[:width].rjust(width) if right else text[:width].ljust(width)


def elapsed(seconds: float) -> str:
    """Return a time in Slurm's notation: `[D-]HH:MM:SS`."""
    whole = int(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    text = f"{hours:02d}:{minutes:02d}:{whole % 60:02d}"
    return f"{days}-{text}" if days else text
