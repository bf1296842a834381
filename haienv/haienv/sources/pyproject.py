"""pyproject.toml: the dependencies of a project, and of its extras. Nothing of the project is executed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from haienv.shared.errors import Wrong
from haienv.sources.source import Source, check_shape, line_of
from haienv.store.spec import check_requirement, key_of, normal


def read(path: Path, text: str, data: Mapping[str, Any], extras: Sequence[str]) -> Source:
    """Return what a project needs.

    Args:
        path: The file, for messages.
        text: Its text.
        data: What it holds.
        extras: The extras that are wanted.

    Raises:
        Wrong: It says this in a way that only executing it would tell, or an extra is unknown.
    """
    project = data.get("project")
    if not isinstance(project, dict):
        raise Wrong(
            f"{path}: has no table [project] with dependencies; write one, or `uv export` or `poetry export` a"
            " requirements.txt and give that"
        )
    check_shape(path, data, {"project": {"dynamic": [str]}, "tool": {"uv": {"sources": {}}}})
    for name in ("dependencies", "optional-dependencies"):
        if name in project.get("dynamic", ()):
            raise Wrong(
                f"{path}, line {line_of(text, 'dynamic')}: project.dynamic: {name} would be known only by executing"
                f" the project's build; write [project] {name} into the file, or give its requirements.txt"
            )
    wanted = [*_listed(path, text, project, "dependencies")]
    for extra in extras:
        wanted += _extra(path, text, project, extra, ())
    _refuse_sources(path, text, data, wanted)
    python = project.get("requires-python")
    if python is not None and not isinstance(python, str):
        raise Wrong(f"{path}, line {line_of(text, 'requires-python')}: project.requires-python: write '>=3.9'")
    return Source(requirements=tuple(dict.fromkeys(wanted)), python=python)


def _listed(path: Path, text: str, table: Mapping[str, Any], name: str) -> list[str]:
    values = table.get(name, [])
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise Wrong(f"{path}, line {line_of(text, name)}: {name}: is not a list of texts; write {name} = ['numpy>=2']")
    return [_checked(path, text, one) for one in values]


def _checked(path: Path, text: str, one: str) -> str:
    try:
        return check_requirement(one)
    except Wrong as error:
        raise Wrong(f"{path}, line {line_of(text, one)}: {error}") from None


def _extra(path: Path, text: str, project: Mapping[str, Any], extra: str, above: tuple[str, ...]) -> list[str]:
    """Return the requirements of an extra. One of the project itself, such as `hai[gpu]`, stands for that extra."""
    tables = project.get("optional-dependencies", {})
    known = {normal(name): name for name in tables} if isinstance(tables, dict) else {}
    if normal(extra) not in known:
        have = ", ".join(sorted(known)) or "none"
        raise Wrong(f"extra: {path} has no extra {extra!r}; it has {have}")
    if normal(extra) in above:
        return []
    found = []
    for one in _listed(path, text, tables, known[normal(extra)]):
        own = key_of(one) == normal(str(project.get("name", "")))
        inside = re.match(r"[^\[;@]*\[([^\]]*)\]", one)
        if not own:
            found.append(one)
        elif inside:
            for further in inside[1].split(","):
                found += _extra(path, text, project, further.strip(), (*above, normal(extra)))
    return found


def _refuse_sources(path: Path, text: str, data: Mapping[str, Any], wanted: Sequence[str]) -> None:
    """Raise Wrong where uv would take a package from a folder or a repository: these are no releases."""
    table = data.get("tool", {}).get("uv", {}).get("sources", {})
    needed = {key_of(one) for one in wanted}
    for name, values in table.items():
        tables = [one for one in (values if isinstance(values, list) else [values]) if isinstance(one, dict)]
        kinds = [key for one in tables for key in one]
        unstable = [kind for kind in ("path", "git", "workspace", "editable") if kind in kinds]
        if normal(name) in needed and unstable:
            raise Wrong(
                f"{path}, line {line_of(text, name + ' =')}: tool.uv.sources: {name} comes from a {unstable[0]}, which"
                " can change under a task; publish a wheel of it to an index, or take it from the dependencies"
            )
