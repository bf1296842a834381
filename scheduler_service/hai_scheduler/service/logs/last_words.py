"""Finds the lines at the end of a log that say why a rank has failed.

torchrun ends with a traceback of its own and a summary (`ChildFailedError`): some fifty lines that hide the worker's
own error. This module skips them and shows the worker's lines. The texts are those that PyTorch prints
(torch/distributed/elastic/multiprocessing/errors, `ChildFailedError.format_msg`).

When a worker raises, the others lose their connection to it and raise as well. torchrun looks at its workers ten times
a second: of those that have ended since its last look, the summary takes any one for the root cause. Their tracebacks
are in the log in the order in which they raised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: How many lines are shown at most.
COUNT: Final = 20
#: How many characters of a line are shown.
MOST_CHARACTERS: Final = 1000
#: The most lines of torchrun's own traceback.
_LONGEST_TRACEBACK: Final = 60

_TRACEBACK: Final = "Traceback (most recent call last):"
_WRAPPER: Final = re.compile(
    r"(?:torch\.distributed\.elastic\.multiprocessing\.(?:errors|api)\.)?"
    r"(?:(?P<failed>ChildFailedError): ?|SignalException: Process \d+ got signal: \d+)"
)
#: The beginnings of torchrun's own log lines: since PyTorch 2.3, before 2.3, and with 2.0 and older.
_LOGGED: Final = re.compile(
    r"[WEIF]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ \S*torch/distributed/"
    r"|\[[-0-9 :,]+\] torch\.distributed\.\S+: \["
    r"|(?:ERROR|WARNING|INFO):torch\.distributed\."
)
_ROOT_CAUSE: Final = "Root Cause (first observed failure):"
_FAILURE: Final = re.compile(r"\[\d+\]:")
#: The line with which PyTorch begins the traceback of a worker that has joined its process group.
_RAISED: Final = re.compile(r"\[rank(?P<rank>\d+)\]: Traceback \(most recent call last\):")
_FIELD: Final = re.compile(r"  (rank|exitcode|traceback) *: (.*)")
_RULE: Final = re.compile(r"={20,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWords:
    """The reason why a rank has failed, as far as its log shows it."""

    lines: tuple[str, ...]  #: At most `COUNT` lines, in order.
    #: The worker that failed first, of those that the launcher names, in words; None: no launcher names one.
    worker: str | None = None


def last_words(lines: Sequence[str], count: int = COUNT) -> LastWords:
    """The last lines of a log that say why the rank has failed.

    Args:
        lines: The end of the log, without time stamps.
        count: How many lines to return at most.
    """
    end, failed = _wrapper(lines)
    if end is None:
        return LastWords(lines=_last(lines, count))
    before = [line for line in lines[: _beginning(lines, end)] if not _LOGGED.match(line)]
    cause = _first(_failures(lines[end:]), before) if failed else {}
    mark = f"[rank{_rank(cause)}]:"
    # PyTorch marks the traceback of a worker that has joined its process group.
    own = [line.removeprefix(mark).removeprefix(" ") for line in before if line.startswith(mark)]
    told = cause.get("traceback", "").split("\n")
    if not own and told[0] == _TRACEBACK:
        own = [told[0], *(line.removeprefix("  ") for line in told[1:])]
    shown = _last(own, count) or _last(before, count) or _last(lines[end:], count)
    return LastWords(lines=shown, worker=_named(cause))


def _wrapper(lines: Sequence[str]) -> tuple[int | None, bool]:
    """The index of the last line of torchrun's own traceback (None: there is none), and if it has a summary."""
    for index in range(len(lines) - 1, -1, -1):
        found = _WRAPPER.fullmatch(lines[index])
        if found:
            return index, found["failed"] is not None
    return None, False


def _beginning(lines: Sequence[str], end: int) -> int:
    """The index of the first line of the traceback whose last line is at `end`."""
    for index in range(end - 1, max(-1, end - _LONGEST_TRACEBACK), -1):
        if lines[index] == _TRACEBACK:
            return index
    return end


def _failures(summary: Sequence[str]) -> list[dict[str, str]]:
    """The fields of each failure in torchrun's summary, the root cause first; none if no cause is named."""
    if _ROOT_CAUSE not in summary:
        return []
    cause = list(summary).index(_ROOT_CAUSE)
    return [*_fields(summary[cause:]), *_fields(summary[:cause])]


def _fields(part: Sequence[str]) -> list[dict[str, str]]:
    """The fields of each failure in a part of the summary."""
    found: list[dict[str, list[str]]] = []
    name = None
    for line in part:
        if _FAILURE.fullmatch(line):
            found.append({})
            name = None
        elif not found:
            continue
        elif _RULE.fullmatch(line):
            break
        # The traceback is the last field: what follows belongs to it.
        elif name == "traceback":
            found[-1]["traceback"].append(line)
        elif field := _FIELD.fullmatch(line):
            name = field[1]
            found[-1][name] = [field[2].strip()]
    return [{name: "\n".join(lines) for name, lines in one.items()} for one in found]


def _first(failures: Sequence[dict[str, str]], before: Sequence[str]) -> dict[str, str]:
    """The failure that came first, of a list whose first one is the root cause by torchrun; `before` is the log.

    That is the one whose traceback comes first, unless the root cause has none: a killed worker prints nothing.
    """
    by_rank = {_rank(one): one for one in failures}
    raised = [found["rank"] for line in before if (found := _RAISED.fullmatch(line))]
    if not failures or _rank(failures[0]) not in raised:
        return failures[0] if failures else {}
    return next(by_rank[rank] for rank in raised if rank in by_rank)


def _rank(failure: dict[str, str]) -> str:
    """The number of the rank of a failure in the summary; empty if it names none."""
    return failure.get("rank", "").partition(" ")[0]


def _named(cause: dict[str, str]) -> str | None:
    """The worker in words: `rank 1 (local_rank: 1), exitcode -9 (SIGKILL)`; None if no rank is named."""
    if "rank" not in cause:
        return None
    code = re.sub(r" *\(pid: \d+\) *", " ", cause.get("exitcode", "")[:MOST_CHARACTERS]).strip()
    return f"rank {cause['rank']}" + (f", exitcode {code}" if code else "")


def _last(lines: Sequence[str], count: int) -> tuple[str, ...]:
    """The last lines, shortened where necessary, without empty lines at the end."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return tuple(
        line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]} ..."
        for line in lines[max(0, end - count) : end]
    )
