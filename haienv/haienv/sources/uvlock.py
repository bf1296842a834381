"""uv.lock: the lock file of a project of uv. uv itself tells what is in it; nothing of the project is executed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from haienv.shared.errors import BuildFailed, Wrong
from haienv.sources import requirements
from haienv.sources.pylock import is_other
from haienv.sources.source import Source, check_shape, joined, line_of
from haienv.store.spec import check_requirement


class RunUv(Protocol):
    """Runs uv with some arguments, and returns its output. Raises BuildFailed."""

    def __call__(self, words: Sequence[str], *, doing: str) -> str:
        """Run it; `doing` is what it does, for the error."""


#: Sources of a package that are neither a release nor the project itself.
_UNSTABLE = {"git": "a repository", "path": "a file of this machine", "directory": "a folder"}


def read(path: Path, text: str, data: Mapping[str, Any], extras: Sequence[str], run: RunUv) -> Source:
    """Return the packages of a lock as requirements with versions and hashes.

    Args:
        path: The file, for messages.
        text: Its text.
        data: What it holds.
        extras: The extras of the project that are wanted.
        run: Runs uv.

    Raises:
        Wrong: A package comes from a folder or a repository, or uv cannot read the file.
    """
    check_shape(path, data, {"requires-python": str, "package": [{"source": {}, "optional-dependencies": {}}]})
    packages: list[dict[str, Any]] = data.get("package", [])
    for one in packages:
        _refuse_unstable(path, text, one)
    _check_extras(path, packages, extras)
    with tempfile.TemporaryDirectory(prefix="haienv-") as folder:
        # A copy: the project's own folder may be part of a workspace, and its settings may name programs to run.
        Path(folder, "uv.lock").write_text(text, encoding="utf-8")
        wanted = [word for extra in extras for word in ("--extra", extra)]
        try:
            listed = run(
                ["export", "--frozen", "--project", folder, "--no-emit-local", "--no-default-groups", "--no-header",
                 "--no-annotate", "--no-config", "--format", "requirements.txt", *wanted],
                doing=f"read {path}",
            )  # fmt: skip
        except BuildFailed as error:
            raise Wrong(f"{path}: {error}; write it again with `uv lock`") from None
    found = [Source(requirements=(check_requirement(line),)) for _, line in requirements.lines(listed)]
    indexes = dict.fromkeys(str(one.get("source", {}).get("registry", "")) for one in packages)
    python = data.get("requires-python")
    return joined([*found, Source(python=python, indexes=tuple(one for one in indexes if is_other(one)))])


def _refuse_unstable(path: Path, text: str, one: Mapping[str, Any]) -> None:
    source = one.get("source", {})
    for kind, words in _UNSTABLE.items():
        if kind in source:
            name = str(one.get("name"))
            quoted = f'name = "{name}"'
            raise Wrong(
                f"{path}, line {line_of(text, quoted)}: package: {name} comes from {words}, which can change under a"
                " task; publish a wheel of it to an index, and `uv lock` again"
            )


def _check_extras(path: Path, packages: Sequence[Mapping[str, Any]], extras: Sequence[str]) -> None:
    """Raise Wrong for an extra that the project of the lock lacks."""
    own = [one for one in packages if {"virtual", "editable"} & set(one.get("source", {}))]
    known = sorted({name for one in own for name in one.get("optional-dependencies", {})})
    for extra in extras:
        if extra not in known:
            raise Wrong(f"extra: {path} has no extra {extra!r}; it has {', '.join(known) or 'none'}")
