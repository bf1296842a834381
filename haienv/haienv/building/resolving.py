"""Resolves requirements to exact versions with hashes: `requirements.lock`, from which alone packages are installed."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from haienv.building.uv import Uv
from haienv.shared.errors import BuildFailed
from haienv.store import lockfile
from haienv.store.spec import key_of

_HASH = re.compile(r"\s--hash=(sha256:[0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be resolved together."""

    requirements: Sequence[str]  #: Requirements, with the hashes that a user's lock file names for them.
    constraints: Sequence[str] = ()
    indexes: Sequence[str] = ()
    packages: Mapping[str, str] = field(default_factory=dict)  #: The one index that a package comes from, by package.
    doing: str = "resolve the requirements"  #: What is done, for an error.


def resolve(uv: Uv, python: Path, wanted: Wanted) -> str:
    """Return the text of the lock file for a Python.

    Where the requirements name hashes, the lock has no others: what is installed is what the user's lock file meant.

    Raises:
        BuildFailed: There is no solution, or an index has other files than a hash says.
    """
    plain, hashes = split(wanted.requirements)
    direct: list[str] = []
    while True:
        text = _compiled(uv, python, plain, direct, wanted)
        # uv asks the index of a package only where the package is asked for directly.
        pins = lockfile.packages(text)
        asked = {key_of(one) for one in plain} | set(direct)
        further = [name for name in wanted.packages if name in pins and name not in asked]
        if not further:
            return held(text, hashes)
        direct += further


def split(requirements: Iterable[str]) -> tuple[list[str], dict[str, set[str]]]:
    """Return requirements without hashes, and the hashes by package."""
    plain: list[str] = []
    hashes: dict[str, set[str]] = {}
    for one in requirements:
        found = _HASH.findall(one)
        if found:
            hashes.setdefault(key_of(one), set()).update(found)
        plain.append(_HASH.sub("", one).strip())
    return plain, hashes


def _folder(until: contextlib.ExitStack) -> str:
    """Return a new folder, which is removed with the stack."""
    # Imported here: most builds need none.
    import tempfile

    return until.enter_context(tempfile.TemporaryDirectory(prefix="haienv-"))


def _compiled(uv: Uv, python: Path, plain: Sequence[str], direct: Sequence[str], wanted: Wanted) -> str:
    with contextlib.ExitStack() as until:
        folder = _folder(until) if wanted.packages or wanted.constraints else ""
        source, stdin = "-", "\n".join([*plain, *direct]) + "\n"
        if wanted.packages:
            source = str(Path(folder) / "pyproject.toml")
            Path(source).write_text(_project([*plain, *direct], wanted.packages), encoding="utf-8")
        limits: list[str] = []
        if wanted.constraints:
            file = Path(folder) / "constraints.txt"
            file.write_text("\n".join(split(wanted.constraints)[0]) + "\n", encoding="utf-8")
            limits = ["--constraints", str(file)]
        return uv.run(
            ["pip", "compile", source, "--python", str(python), "--generate-hashes", "--no-header", "--no-annotate",
             "--quiet", *index_words(wanted.indexes), *limits],
            stdin=stdin,
            doing=wanted.doing,
        )  # fmt: skip


def index_words(indexes: Iterable[str]) -> list[str]:
    """Return the arguments of uv for some indexes."""
    return [word for address in indexes for word in ("--index", address)]


def _project(requirements: Sequence[str], packages: Mapping[str, str]) -> str:
    """Return a pyproject.toml: only there uv can be told which index a package comes from."""
    lines = ['[project]\nname = "haienv-environment"\nversion = "0"\ndependencies = [']
    lines += [f"  {json.dumps(one)}," for one in requirements]
    lines.append("]")
    named = {key_of(one) for one in requirements}
    for at, (package, address) in enumerate(packages.items()):
        lines.append(f'[[tool.uv.index]]\nname = "own-{at}"\nurl = {json.dumps(address)}\nexplicit = true')
        if package in named:
            lines.append(f'[tool.uv.sources.{json.dumps(package)}]\nindex = "own-{at}"')
    return "\n".join(lines) + "\n"


def held(text: str, hashes: Mapping[str, set[str]]) -> str:
    """Return a lock whose hashes are among those that are named, for the packages for which some are named.

    Raises:
        BuildFailed: Nothing is left of a package.
    """
    found = []
    for block in blocks(text):
        allowed = hashes.get(key_of(block[0]))
        if allowed is not None:
            kept = [one for one in _HASH.findall(" ".join(block)) if one in allowed]
            if not kept:
                raise BuildFailed(
                    f"{block[0].split()[0]}: the index has other files of it than the lock file names: its content has"
                    " changed since; look at the index, and write the lock file again if the change is right"
                )
            head = _HASH.sub("", block[0]).rstrip(" \\")
            block = [f"{head} \\", *(f"    --hash={one} \\" for one in kept)]
            block[-1] = block[-1].removesuffix(" \\")
        found += block
    return "\n".join(found) + "\n" if found else text


def blocks(text: str) -> Iterator[list[str]]:
    """Yield the lines of a lock file, package by package; comments are left out."""
    block: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if block and not line[0].isspace():
            yield block
            block = []
        block.append(line)
    if block:
        yield block
