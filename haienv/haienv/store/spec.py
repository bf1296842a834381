"""What a user has asked for: `env.toml`. Needs Python 3.11, as only what builds reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomllib

from haienv.shared.errors import Damaged, Wrong
from haienv.shared.files import write_atomically

#: A requirement begins with the name of a package (PEP 508).
_PACKAGE = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What an environment is made from."""

    #: Version such as 3.11, or the path of a program; None: that of the extended environment, else the newest.
    python: str | None = None
    #: The environment whose packages it has too; None: it extends none.
    extends: str | None = None
    #: Requirements as in a requirements file, one each.
    requirements: tuple[str, ...] = ()
    #: Addresses of package indexes; the first one that has a package counts.
    indexes: tuple[str, ...] = ()
    #: Environment variables of its shells, runs and kernels.
    variables: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    #: Whether Jupyter offers it as a kernel.
    kernel: bool = True

    def adding(self, requirements: Iterable[str]) -> Spec:
        """Return the spec with further requirements; one for the same package replaces the old one."""
        kept = {key_of(one): one for one in self.requirements}
        for one in requirements:
            kept[key_of(one)] = one
        return replace(self, requirements=tuple(kept.values()))

    def without(self, packages: Iterable[str]) -> Spec:
        """Return the spec without the requirements of some packages. Raises Wrong."""
        kept = {key_of(one): one for one in self.requirements}
        for package in packages:
            if kept.pop(normal(package), None) is None:
                asked = ", ".join(kept) or "none"
                raise Wrong(f"package: {package!r} was not asked for; these were: {asked}")
        return replace(self, requirements=tuple(kept.values()))

    def text(self) -> str:
        """Return the spec as TOML."""
        lines = [
            "# What this environment is made from. `haienv install` and `haienv remove` change it;",
            "# after a change by hand, `haienv rebuild` makes a new generation.",
        ]
        if self.description:
            lines.append(f"description = {_text(self.description)}")
        if self.python:
            lines.append(f"python = {_text(self.python)}")
        if self.extends:
            lines.append(f"extends = {_text(self.extends)}")
        if not self.kernel:
            lines.append("kernel = false")
        for name, values in (("requirements", self.requirements), ("indexes", self.indexes)):
            if values:
                lines += [f"{name} = [", *(f"  {_text(value)}," for value in values), "]"]
        if self.variables:
            lines += ["", "[variables]", *(f"{name} = {_text(value)}" for name, value in self.variables.items())]
        return "\n".join(lines) + "\n"

    def write(self, path: Path) -> None:
        """Write the spec, whole or not at all. Raises OSError."""
        write_atomically(path, self.text())


def read(path: Path) -> Spec:
    """Read a spec. Raises FileNotFoundError, Damaged."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Damaged(f"{path}: is no TOML: {error}") from None
    try:
        return checked(data)
    except Wrong as error:
        raise Damaged(f"{path}: {error}") from None


def checked(data: Mapping[str, Any]) -> Spec:
    """Return the spec for the values of an env.toml. Raises Wrong."""
    for name, value in data.items():
        if name not in _KINDS:
            raise Wrong(f"{name}: is not known; known are {', '.join(_KINDS)}")
        if not isinstance(value, _KINDS[name]):
            raise Wrong(f"{name}: {value!r} is not {_WORDS[_KINDS[name]]}")
    for name in ("requirements", "indexes"):
        for one in data.get(name, ()):
            if not isinstance(one, str):
                raise Wrong(f"{name}: {one!r} is not a text")
    for name, value in data.get("variables", {}).items():
        if not _VARIABLE.fullmatch(name) or not isinstance(value, str):
            raise Wrong(f"variables: {name!r} is not the name of a variable with a text")
    lists = {name: tuple(data.get(name, ())) for name in ("requirements", "indexes")}
    for one in lists["requirements"]:
        check_requirement(one)
    return Spec(**{**data, **lists})


_KINDS: Mapping[str, type] = {
    "description": str, "python": str, "extends": str, "kernel": bool, "requirements": list, "indexes": list,
    "variables": dict,
}  # fmt: skip
_WORDS = {str: "a text", bool: "true or false", list: "a list", dict: "a table"}


def check_requirement(text: str) -> str:
    """Return a requirement. Raises Wrong."""
    words = text.split()
    if (words and words[0] in ("-e", "--editable")) or text.startswith("--editable="):
        raise Wrong(
            f"requirement: {text[:80]!r} is an editable install, which cannot be frozen: its folder may change under a"
            " task; build a wheel of it, or put the folder on PYTHONPATH of the task"
        )
    if not words or text.startswith("-") or not _PACKAGE.match(text) or "\n" in text or "\0" in text:
        raise Wrong(f"requirement: {text[:80]!r} is not one; write for example timm==1.0.20")
    return text.strip()


def read_requirements(path: Path) -> tuple[str, ...]:
    """Return the requirements of a requirements file without options. Raises Wrong, OSError."""
    found = []
    joined = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in joined.splitlines():
        text = re.sub(r"(^|\s)#.*$", "", line).strip()
        text = re.sub(r"\s--hash=\S+", "", text)
        if text:
            found.append(check_requirement(text))
    return tuple(found)


def normal(package: str) -> str:
    """Return the name of a package in its normal form (PEP 503)."""
    return re.sub(r"[-_.]+", "-", package).lower()


def key_of(requirement: str) -> str:
    """Return the package that a requirement is for, in its normal form."""
    found = _PACKAGE.match(requirement)
    return normal(found[1]) if found else requirement


def _text(value: str) -> str:
    # A JSON string is a TOML string, but for a bare DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
