"""What a user has asked for: `env.toml`. Needs Python 3.11, as only what builds reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomllib

from haienv.shared.addresses import checked_index
from haienv.shared.errors import Damaged, Wrong
from haienv.shared.files import write_atomically
from haienv.shared.masking import masked, quoted
from haienv.store.conda_spec import check_conda, name_of

#: A requirement begins with the name of a package (PEP 508).
_PACKAGE = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
#: The name of an environment variable.
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What an environment is made from."""

    #: Version such as 3.11, or the path of a program; None: that of the extended environment, else the newest.
    python: str | None = None
    #: The versions of Python that the project is for, such as `>=3.9,<3.13`; None: all.
    requires_python: str | None = None
    extends: str | None = None  #: The environment whose packages it has too; None: it extends none.
    requirements: tuple[str, ...] = ()  #: Requirements as in a requirements file, one each.
    constraints: tuple[str, ...] = ()  #: Requirements that only limit versions.
    indexes: tuple[str, ...] = ()  #: Addresses of package indexes; the first one that has a package counts.
    #: Packages of conda, as match specifications. With one, conda brings Python, and the flavour is conda's.
    conda: tuple[str, ...] = ()
    #: The channels of conda, by name or address; the first one that has a package counts.
    channels: tuple[str, ...] = ()
    #: Environment variables of its shells, runs and kernels.
    variables: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    kernel: bool = True  #: Whether Jupyter offers it as a kernel.

    def adding(self, requirements: Iterable[str]) -> Spec:
        """Return the spec with further requirements; one for the same package replaces the old one."""
        added = tuple(dict.fromkeys(requirements))
        return replace(self, requirements=merged(self.requirements, added))

    def without(self, packages: Iterable[str]) -> Spec:
        """Return the spec without the requirements of some packages. Raises Wrong."""
        gone = {normal(package): package for package in packages}
        of_conda = [normal(name_of(one)) for one in self.conda]
        known = list(dict.fromkeys([*(key_of(one) for one in self.requirements), *of_conda]))
        for key, package in gone.items():
            if key not in known:
                raise Wrong(f"package: {package!r} was not asked for; these were: {', '.join(known) or 'none'}")
        return replace(
            self,
            requirements=tuple(one for one in self.requirements if key_of(one) not in gone),
            conda=tuple(one for one, name in zip(self.conda, of_conda, strict=True) if name not in gone),
        )

    def text(self) -> str:
        """Return the spec as TOML."""
        lines = [
            "# What this environment is made from. `haienv install` and `haienv uninstall` change it;",
            "# after a change by hand, `haienv rebuild` makes a new generation.",
        ]
        if self.description:
            lines.append(f"description = {_text(self.description)}")
        if self.python:
            lines.append(f"python = {_text(self.python)}")
        if self.requires_python:
            lines.append(f"requires_python = {_text(self.requires_python)}")
        if self.extends:
            lines.append(f"extends = {_text(self.extends)}")
        if not self.kernel:
            lines.append("kernel = false")
        for name in _LISTS:
            values: tuple[str, ...] = getattr(self, name)
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
    for name, value in data.get("variables", {}).items():
        if not VARIABLE.fullmatch(name) or not isinstance(value, str):
            raise Wrong(f"variables: {name!r} is not the name of a variable with a text")
    lists = _lists(data)
    return Spec(**{**data, **lists})


def _lists(data: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the lists of an env.toml. Raises Wrong."""
    lists: dict[str, tuple[str, ...]] = {name: tuple(data.get(name, ())) for name in _LISTS}
    for name, values in lists.items():
        for one in values:
            if not isinstance(one, str):
                raise Wrong(f"{name}: {one!r} is not a text")
    for one in (*lists["requirements"], *lists["constraints"]):
        check_requirement(one)
    for one in lists["indexes"]:
        checked_index(one, "indexes")
    for one in lists["conda"]:
        check_conda(one)
    return lists


_LISTS = ("requirements", "constraints", "indexes", "conda", "channels")
_KINDS: Mapping[str, type] = {
    "description": str, "python": str, "requires_python": str, "extends": str, "kernel": bool, "variables": dict,
    **dict.fromkeys(_LISTS, list),
}  # fmt: skip
_WORDS = {str: "a text", bool: "true or false", list: "a list", dict: "a table"}


def check_variable(text: str) -> tuple[str, str]:
    """Return name and value of `NAME=VALUE`. Raises Wrong."""
    name, sign, value = text.partition("=")
    if not sign or not VARIABLE.fullmatch(name) or "\0" in value:
        raise Wrong(f"variable: {quoted(name)} is not NAME=VALUE; write for example OMP_NUM_THREADS=4")
    return name, value


def check_requirement(text: str) -> str:
    """Return a requirement. Raises Wrong."""
    words = text.split()
    if (words and words[0] in ("-e", "--editable")) or text.startswith("--editable="):
        raise Wrong(
            f"requirement: {quoted(text)} is an editable install, which cannot be frozen: its folder may change under a"
            " task; build a wheel of it, or put the folder on PYTHONPATH of the task"
        )
    if not words or text.startswith("-") or not _PACKAGE.match(text) or "\n" in text or "\0" in text:
        raise Wrong(f"requirement: {quoted(text)} is not one; write for example timm==1.0.20")
    # The user's name of git over SSH is no secret, and what follows says more.
    if masked(text) != text and "+ssh://" not in text:
        raise Wrong(
            f"requirement: the address of {key_of(text)!r} has a user's name, a password or a token in it, which would"
            " be seen in files and logs; put them into ~/.netrc"
        )
    if re.search(r"@\s*(git|hg|svn|bzr)\+", text):
        raise Wrong(
            f"requirement: {quoted(text, 200)} comes from a repository and has no hash, so nobody could check what is"
            " installed; build a wheel of it and publish that to an index, or give the wheel's address"
        )
    return text.strip()


def merged(old: Iterable[str], new: Iterable[str], *, key: Callable[[str], str] | None = None) -> tuple[str, ...]:
    """Return requirements with further ones; one replaces all old ones for the same package, at their place.

    Args:
        old: The requirements.
        new: The further ones.
        key: Tells the package of one; without it they are requirements of pip.
    """
    key_of_one = key or key_of
    waiting: dict[str, list[str]] = {}
    for one in new:
        # Those with a marker (`; sys_platform == ...`) may be several for a package.
        known = waiting.get(key_of_one(one), []) if ";" in one else []
        waiting[key_of_one(one)] = [*known, one]
    replaced = set(waiting)
    found = []
    for one in old:
        found += [one] if key_of_one(one) not in replaced else waiting.pop(key_of_one(one), [])
    return (*found, *(one for group in waiting.values() for one in group))


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
