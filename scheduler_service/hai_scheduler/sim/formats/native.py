"""HAI's own traces: JSON lines, or CSV with the same names as columns (docs/simulator.md).

A JSON file may begin with a line `{"hai_trace": 1, "users": {...}, "quotas": [...]}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.sim.formats.source import TraceSource
from hai_scheduler.sim.formats.trace import GROUP, Trace, Traced, TraceReading, finished
from hai_scheduler.sim.scenario import Manner

VERSION = 1
#: The fields of a job; the first three must be there.
FIELDS = (
    "submitted_at", "work_s", "nodes", "gpus", "user", "user_group", "priority", "group", "name", "time_limit_s",
    "saves_in_s", "saves_every_s", "manner", "idle_share",
)  # fmt: skip
_NEEDED = FIELDS[:3]
_NUMBERS = frozenset({"work_s", "nodes", "gpus", "time_limit_s", "saves_in_s", "saves_every_s", "idle_share"})
_HEADER = ("hai_trace", "about", "users", "quotas")
_QUOTA = ("subject", "group", "priority", "limit")
_AUTO = "AUTO"


@dataclass(frozen=True, slots=True)
class _Header:
    users: Mapping[str, frozenset[str]] | None = None
    quotas: tuple[Quota, ...] | None = None


def read(path: str, reading: TraceReading) -> Trace:
    """Read a trace: CSV if the file name ends with .csv, else JSON lines. Raises TraceError."""
    source = TraceSource(path)
    header, rows = _Header(), source.objects(_NEEDED)
    if Path(path).suffix.lower() != ".csv":
        objects = _objects(source)
        first = next(objects, None)
        if first is not None and "hai_trace" in first:
            header, rows = _header(source, first), objects
        else:
            rows = objects if first is None else chain([first], objects)
    jobs = [_traced(source, row, header.users) for row in rows]
    return finished(path, jobs, reading, quotas=header.quotas, groups_of=header.users)


def lines_of(jobs: Iterable[Traced], *, about: str) -> Iterator[str]:
    """Yield the lines of a trace file with these jobs, without line ends.

    Args:
        jobs: The jobs, in order of submission.
        about: Where the jobs are from, for readers of the file.
    """
    yield json.dumps({"hai_trace": VERSION, "about": about})
    for job in jobs:
        yield json.dumps(_values(job))


def _values(job: Traced) -> dict[str, Any]:
    values: dict[str, Any] = {
        "submitted_at": job.submitted_at.isoformat().replace("+00:00", "Z"),
        "work_s": _number(job.work),
        "nodes": job.nodes,
        "gpus": job.gpus,
        "user": job.user or None,
        "user_group": job.user_group or None,
        "priority": _AUTO if job.priority is None else job.priority.name,
        "group": None if job.group == GROUP else job.group,
        "name": job.name or None,
        "time_limit_s": _number(job.time_limit),
        "saves_in_s": _number(job.saves_in) or None,
        "saves_every_s": _number(job.saves_every),
        "manner": None if job.manner is Manner.CATCHES else job.manner.value,
        "idle_share": job.idle_share or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _number(length: timedelta | None) -> float | int | None:
    if length is None:
        return None
    seconds = round(length.total_seconds(), 3)
    return int(seconds) if seconds == int(seconds) else seconds


def _objects(source: TraceSource) -> Iterator[dict[str, Any]]:
    for text in source.lines():
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise source.wrong(None, None, "is not a JSON object; each line holds one job (docs/simulator.md)")
        yield value


def _known(source: TraceSource, names: Iterable[str], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            raise source.wrong(str(name), None, f"is unknown; write {', '.join(known)}")


def _header(source: TraceSource, first: Mapping[str, Any]) -> _Header:
    _known(source, first, _HEADER)
    if first["hai_trace"] != VERSION:
        raise source.wrong("hai_trace", first["hai_trace"], f"only version {VERSION} is known; write 1")
    return _Header(_users(source, first.get("users")), _quotas(source, first.get("quotas")))


def _users(source: TraceSource, value: Any) -> Mapping[str, frozenset[str]] | None:
    if value is None:
        return None
    good = isinstance(value, dict) and all(
        name and isinstance(groups, list) and all(isinstance(group, str) for group in groups)
        for name, groups in value.items()
    )
    if not good:
        raise source.wrong("users", value, 'write {"NAME": ["USER GROUP", ...], ...}')
    return {name: frozenset(groups) for name, groups in value.items()}


def _quotas(source: TraceSource, value: Any) -> tuple[Quota, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise source.wrong("quotas", value, f"write a list of objects with {', '.join(_QUOTA)}")
    return tuple(_quota(source, row) for row in value)


def _quota(source: TraceSource, row: Mapping[str, Any]) -> Quota:
    _known(source, row, _QUOTA)
    subject, limit = row.get("subject"), row.get("limit")
    kinds = ("user:", "group:", "total:")
    if not isinstance(subject, str) or not (subject == "public" or subject.startswith(kinds)):
        raise source.wrong("quotas.subject", subject, "write public, user:NAME, group:NAME or total:NAME")
    level = _priority(source, "quotas.priority", row.get("priority", "NORMAL"))
    if level is None:
        raise source.wrong("quotas.priority", _AUTO, "AUTO has no quota of its own; write another priority")
    return Quota(
        subject=subject,
        group=_text(source, "quotas.group", row.get("group", GROUP)),
        priority=level,
        limit=None if limit is None else source.count("quotas.limit", _plain(source, "quotas.limit", limit), least=0),
    )


def _traced(source: TraceSource, row: Mapping[str, Any], users: Mapping[str, frozenset[str]] | None) -> Traced:
    _known(source, row, FIELDS)
    for name in _NEEDED:
        if row.get(name) is None:
            raise source.wrong(name, None, f"is missing; a job has at least {', '.join(_NEEDED)}")
    given = {name: value for name, value in row.items() if value is not None}
    numbers = {name: _plain(source, name, value) for name, value in given.items() if name in _NUMBERS}
    texts = {name: _text(source, name, value) for name, value in given.items() if name not in _NUMBERS}
    lengths = {name: source.seconds(name, numbers[name]) for name in numbers if name.endswith("_s")}
    _positive(source, lengths, "time_limit_s", "saves_every_s")
    user = texts.get("user", "")
    if users is not None and user not in users:
        raise source.wrong("user", user, "is not among the users of the first line; add it there")
    return Traced(
        line=source.line or 0,
        submitted_at=source.time("submitted_at", texts["submitted_at"]),
        work=lengths["work_s"],
        nodes=source.count("nodes", numbers["nodes"]),
        gpus=source.count("gpus", numbers["gpus"]) if "gpus" in numbers else None,
        user=user,
        user_group=texts.get("user_group", ""),
        priority=_priority(source, "priority", texts.get("priority", "NORMAL")),
        group=texts.get("group", GROUP),
        name=texts.get("name", ""),
        time_limit=lengths.get("time_limit_s"),
        saves_in=lengths.get("saves_in_s", timedelta(0)),
        saves_every=lengths.get("saves_every_s"),
        manner=_manner(source, texts.get("manner", Manner.CATCHES.value)),
        idle_share=_share(source, "idle_share", numbers.get("idle_share", 0)),
    )


def _share(source: TraceSource, name: str, value: str | float) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1
    if not 0 <= share <= 1:
        raise source.wrong(name, value, "write a number from 0 to 1")
    return share


def _manner(source: TraceSource, value: str) -> Manner:
    if value not in set(Manner):
        raise source.wrong("manner", value, f"write {', '.join(Manner)}")
    return Manner(value)


def _positive(source: TraceSource, lengths: Mapping[str, timedelta], *names: str) -> None:
    for name in names:
        if lengths.get(name) == timedelta(0):
            raise source.wrong(name, 0, "write more than 0, or leave it out")


def _plain(source: TraceSource, name: str, value: Any) -> str | float:
    """Return a number, or the text of a number as CSV has it. Raises TraceError for other values, and for booleans."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise source.wrong(name, value, "write a number")
    return value


def _text(source: TraceSource, name: str, value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > 200 or not value.isprintable():
        raise source.wrong(name, value, "write a text of 1 to 200 printable characters")
    return value


def _priority(source: TraceSource, name: str, value: Any) -> Priority | None:
    if value == _AUTO:
        return None
    if not isinstance(value, str) or value not in Priority.__members__:
        raise source.wrong(name, value, f"write {', '.join(Priority.__members__)} or {_AUTO}")
    return Priority[value]
