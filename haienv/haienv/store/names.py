"""Names of environments: whose they are, and how users write them.

An environment belongs to the platform (`base/NAME`), to a group (`groups/GROUP/NAME`) or to a user
(`users/USER/NAME`). A bare name means the user's own environment, else one of the user's groups, else a base one
(`haienv.store.registry`). `@N` chooses a generation.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from haienv.shared.errors import Wrong
from haienv.shared.masking import quoted

BASE, GROUPS, USERS = "base", "groups", "users"
LEVELS = (USERS, GROUPS, BASE)
#: Environments are folders and parts of kernel names: no name may begin with a dot, or hold a slash.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_GENERATION = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True, order=True)
class Owner:
    """The owner of an environment."""

    level: str
    name: str = ""  #: The group or the user; empty for `base`.

    def __str__(self) -> str:
        return self.level if self.level == BASE else f"{self.level}/{self.name}"


@dataclass(frozen=True, order=True)
class EnvName:
    """The full name of an environment."""

    owner: Owner
    name: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def kernel(self) -> str:
        """The name of its Jupyter kernel; kernel names have no slash, and Jupyter does not tell `A` from `a`.

        A digest tells names apart that would else be the same: `a-b/c` and `a/b-c`, `Vision` and `vision`.
        """
        parts = [part for part in (self.owner.level, self.owner.name, self.name) if part]
        plain = "-".join(["haienv", *parts])
        if plain == plain.lower() and "-" not in self.owner.name:
            return plain
        return f"{plain.lower()}-{hashlib.sha256(str(self).encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Reference:
    """What a user has written: `vision`, `vision@3`, `groups/cv/vision`."""

    name: str
    owner: Owner | None = None  #: None: looked up among the user's own, the groups' and the base environments.
    generation: int | None = None  #: None: the current one.

    def __str__(self) -> str:
        full = self.name if self.owner is None else f"{self.owner}/{self.name}"
        return full if self.generation is None else f"{full}@{self.generation}"


def check(field: str, text: str) -> str:
    """Return a name of an environment, group or user. Raises Wrong."""
    if not NAME.fullmatch(text):
        raise Wrong(
            f"{field}: {quoted(text)} is not a name; use 1 to 63 letters, digits, '.', '_' or '-', "
            "beginning with a letter or a digit"
        )
    return text


def parse(text: str, *, user: str | None = None) -> Reference:
    """Read a reference.

    Args:
        text: What the user has written.
        user: The owner whom `-u` names: a bare name then means an environment of this user.

    Raises:
        Wrong: It is no reference.
    """
    full, at, number = text.partition("@")
    if at and not _GENERATION.fullmatch(number):
        raise Wrong(
            f"environment: {quoted(text)} has no number of a generation, from 1, after '@'; "
            f"write for example {full[:63]}@3"
        )
    owner, name = _split(full)
    if owner is None and user is not None:
        owner = Owner(USERS, check("user", user))
    return Reference(check("environment", name), owner, int(number) if at else None)


def _split(full: str) -> tuple[Owner | None, str]:
    parts = full.split("/")
    if len(parts) == 1:
        return None, full
    if len(parts) == 2 and parts[0] == BASE:
        return Owner(BASE), parts[1]
    if len(parts) == 3 and parts[0] in (GROUPS, USERS):
        return Owner(parts[0], check(parts[0][:-1], parts[1])), parts[2]
    raise Wrong(
        f"environment: {quoted(full)} is not a name; write NAME, base/NAME, groups/GROUP/NAME or users/USER/NAME"
    )
