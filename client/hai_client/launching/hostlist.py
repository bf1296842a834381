"""Reads and writes Slurm's lists of hosts and of numbers of tasks: `node[1-3,07],other` and `2(x3),1`."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: Limit of hosts in a list, so that a list cannot fill the memory.
MAX_HOSTS = 100_000
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")


class BadHostlist(ValueError):
    """The text is no list of hosts; the message says what is wrong."""


def expand(text: str) -> list[str]:
    """Return the hosts of a list in order: `a[1-2],b` is a1, a2, b. Raises BadHostlist."""
    found: list[str] = []
    for part in _split(text):
        for host in _expand(part):
            if len(found) >= MAX_HOSTS:
                raise BadHostlist(f"more than {MAX_HOSTS} hosts")
            found.append(host)
    return found


def _split(text: str) -> Iterator[str]:
    """Split at commas and spaces outside of brackets."""
    depth, part = 0, ""
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if depth < 0 or depth > 1:
            raise BadHostlist(f"{text[:80]!r}: a bracket has no partner")
        if depth == 0 and letter in ", \t\n":
            if part:
                yield part
            part = ""
        else:
            part += letter
    if depth:
        raise BadHostlist(f"{text[:80]!r}: a bracket has no partner")
    if part:
        yield part


def _expand(part: str) -> Iterator[str]:
    before, bracket, rest = part.partition("[")
    if not bracket:
        yield part
        return
    inner, _, after = rest.partition("]")
    for piece in inner.split(","):
        match = _RANGE.fullmatch(piece.strip())
        if match is None:
            raise BadHostlist(f"{part[:80]!r}: {piece!r} is no number and no range of numbers such as 1-4")
        first, last = match.group(1), match.group(2) or match.group(1)
        if int(last) - int(first) >= MAX_HOSTS:
            raise BadHostlist(f"{part[:80]!r}: more than {MAX_HOSTS} hosts")
        for number in range(int(first), int(last) + 1):
            for tail in _expand(after) if after else ("",):
                yield f"{before}{number:0{len(first)}d}{tail}"


def join(hosts: Iterable[str]) -> str:
    """Return a list that names the hosts one by one, a form that all readers of Slurm's lists understand."""
    return ",".join(hosts)


def repeated(numbers: Sequence[int]) -> str:
    """Return numbers in Slurm's notation: 2, 2, 2, 1 is `2(x3),1`."""
    parts: list[str] = []
    at = 0
    while at < len(numbers):
        end = at
        while end < len(numbers) and numbers[end] == numbers[at]:
            end += 1
        parts.append(f"{numbers[at]}(x{end - at})" if end - at > 1 else str(numbers[at]))
        at = end
    return ",".join(parts)
