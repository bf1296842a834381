"""The Python of an environment: found on the machine or fetched by uv. Nothing of it is executed by us."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from haienv.building.uv import Uv
from haienv.shared.errors import BuildFailed, Wrong
from haienv.store.layout import Generation
from haienv.store.site import FILE

#: The oldest Python in which `haienv.set_env` works.
OLDEST = (3, 8)
_CLAUSE = re.compile(r"(~=|===?|!=|<=|>=|<|>)\s*(\d+(?:\.\d+)*)(\.\*)?")


@dataclass(frozen=True)
class Interpreter:
    """The Python of an environment."""

    version: str  #: Such as 3.11.7.
    program: str  #: The program that the environment was made with; that of a conda environment is in it.
    implementation: str  #: Such as CPython.
    inside: bool = False  #: Whether it lies in the environment itself, as conda's does.

    @property
    def noted(self) -> str:
        """What the manifest has of it: a program in the environment is another one in each generation."""
        return "" if self.inside else self.program


def make(uv: Uv, generation: Generation, wanted: str | None, admitted: str | None) -> Interpreter:
    """Make an empty environment.

    Args:
        uv: Runs uv.
        generation: The generation; it has no prefix yet.
        wanted: A version such as 3.12, versions such as `>=3.9,<3.13`, or a program; None: what is admitted.
        admitted: The versions that the files of the user are for; None: all, and the Python that haienv runs with is
            taken. Where it is called, what is on PATH and in the folder, is no matter.

    Raises:
        BuildFailed: There is no such Python.
        Wrong: It is not one that is admitted.
    """
    asked = wanted or admitted or own()
    _refuse_old(asked)
    words = ["venv", "--quiet", "--relocatable", "--python", asked, str(generation.prefix)]
    try:
        uv.run(words, doing="make an environment with this Python")
    except BuildFailed as error:
        raise BuildFailed(_explained(uv, asked, str(error))) from None
    found = read(generation)
    if tuple(map(int, found.version.split(".")[:2])) < OLDEST:
        raise Wrong(f"python: {found.program} is Python {found.version}; haienv needs 3.8 or newer: give -p 3.12")
    if admitted is not None and not admits(admitted, found.version):
        raise Wrong(
            f"python: {found.version} is not among {admitted}, which the project is for; give -p with one of these, or"
            " leave -p out"
        )
    return found


def read(generation: Generation) -> Interpreter:
    """Return the Python of an environment, from its pyvenv.cfg. Raises BuildFailed."""
    facts: dict[str, str] = {}
    for line in (generation.prefix / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
        name, equals, value = line.partition("=")
        if equals:
            facts[name.strip()] = value.strip()
    version = facts.get("version_info") or facts.get("version") or ""
    if not re.match(r"\d+\.\d+", version):
        raise BuildFailed(f"{generation.prefix}/pyvenv.cfg: names no version of Python; use uv 0.9 or newer")
    match = re.match(r"\d+\.\d+(?:\.\d+)?", version)
    assert match is not None
    return Interpreter(match[0], os.path.realpath(generation.python), facts.get("implementation", "CPython"))


def own() -> str:
    """Return the Python that haienv runs with, outside of its virtual environment."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def _refuse_old(asked: str) -> None:
    version = re.match(r"(?:cpython@?)?(\d+)\.(\d+)", asked)
    if version and (int(version[1]), int(version[2])) < OLDEST:
        raise BuildFailed(
            f"python: {asked} is too old: haienv makes environments of Python 3.8 and newer: give -p 3.12"
        )


def _explained(uv: Uv, asked: str, reason: str) -> str:
    """Return what to do about a Python that is not to be had."""
    if os.sep in asked:
        # What the program itself has said to uv's question is in the log, and helps nobody here.
        return f"python: {asked} cannot be used: {reason.partition(chr(10))[0]}; name a program of Python 3.8 or newer"
    if not re.search(r"No interpreter found|download|network|fetch|connect|offline", reason, re.IGNORECASE):
        return reason
    known = ", ".join(installed(uv)) or "none"
    unreached = re.search(r"Failed to download|connect|request", reason)
    fetched = "uv could not fetch it" if unreached else reason.rstrip(".")
    return (
        f"python: there is no Python {asked} on this machine ({known}), and {fetched}. Choose one of these with"
        f" -p, name a program (-p /opt/python3.12/bin/python3), or let the administrator name a mirror:"
        f" python_mirror in {FILE}"
    )


def installed(uv: Uv) -> list[str]:
    """Return the versions of Python that uv finds on this machine, the newest first."""
    try:
        listed = uv.run(["python", "list", "--only-installed", "--offline"], doing="list the Pythons of this machine")
    except BuildFailed:
        return []
    found = re.findall(r"(?m)^cpython-(\d+\.\d+\.\d+)\S*", listed)
    return [one for one in dict.fromkeys(found) if tuple(map(int, one.split(".")[:2])) >= OLDEST]


def admits(versions: str, version: str) -> bool:
    """Return whether a version of Python is among versions such as `>=3.9,<3.13`.

    Clauses of another form than the usual ones admit every version: uv has the last word.
    """
    return all(_admits(clause.strip(), version) for clause in versions.split(",") if clause.strip())


def _admits(clause: str, version: str) -> bool:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        return True
    sign, text = match[1], match[2]
    limit = tuple(map(int, text.split(".")))
    own = tuple(map(int, version.split(".")))
    begin = (*own, *[0] * 3)[: len(limit)]
    padded = (*limit, *[0] * 3)[: len(own)] if len(limit) <= len(own) else limit
    if sign in ("==", "==="):
        return begin == limit if match[3] else own == padded
    if sign == "!=":
        return not (begin == limit if match[3] else own == padded)
    if sign == "~=":
        return own >= padded and begin[:-1] == limit[:-1]
    return {">=": own >= padded, "<=": own <= padded, ">": own > padded, "<": own < padded}[sign]


def for_others(program: str) -> bool:
    """Return whether other users can run a program: every folder above it lets them in."""
    path = Path(os.path.realpath(program))
    try:
        return all(one.stat().st_mode & 0o001 for one in [path, *path.parents])
    except OSError:
        return False
