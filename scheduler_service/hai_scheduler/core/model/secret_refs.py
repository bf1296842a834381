"""The secrets of users, as tasks name them and as the store lists them: everything but their values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.limits import NAME, NAME_LENGTH, NAME_PATTERN

#: The most characters of a reference.
REFERENCE_LENGTH: Final = 1100
_PART: Final = r"[^/\x00-\x1f\x7f]*"
#: What a reference is, as a regular expression that Python and ECMA 262 read alike: a name, a variable, or a path whose
#: last part is a name of a file and which has no part `..`.
REFERENCE_PATTERN: Final = (
    rf"([A-Za-z][A-Za-z0-9_]{{0,{NAME_LENGTH - 1}}}|[A-Za-z_][A-Za-z0-9_]*={NAME_PATTERN}"
    rf"|~?/((?!\.\./){_PART}/)*(?!\.{{0,2}}={NAME_PATTERN}$){_PART}={NAME_PATTERN})"
)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f]")
_FORMS: Final = "write NAME or VARIABLE=NAME, or for a file PATH=NAME"
_NAMES: Final = "a secret's name has up to 63 letters, digits, '.', '_' and '-', and begins with a letter or digit"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRef:
    """A secret that a task gets at each start, as a variable or as a file: exactly one of both is set."""

    #: The secret, by the name that its user has given it.
    name: str
    variable: str | None = None
    #: Where the file is, absolute or below the home folder of the rank (`~/.netrc`).
    path: str | None = None

    @property
    def place(self) -> str:
        """The variable or the path."""
        return self.variable or self.path or ""

    def __str__(self) -> str:
        """Return the reference as users write it: HF_TOKEN, HF_TOKEN=hf, ~/.netrc=netrc."""
        return self.name if self.variable == self.name else f"{self.place}={self.name}"

    @classmethod
    def parse(cls, text: str) -> SecretRef:
        """Read a reference as `str` writes it. Raises ValueError; its message says how to write one."""
        if len(text) > REFERENCE_LENGTH:
            raise ValueError(f"{text!r:.100} has {len(text)} characters, and {REFERENCE_LENGTH} is the most: {_FORMS}")
        place, equals, name = text.rpartition("=")
        check_secret_name(name)
        if not equals:
            place = name
        if place.startswith(("/", "~/")):
            _check_path(place)
            return cls(name=name, path=place)
        if not _VARIABLE.fullmatch(place):
            wrong = f"{place!r:.100} is neither a variable nor a path that begins with / or ~/"
            raise ValueError(f"{wrong}: {_FORMS}")
        return cls(name=name, variable=place)


def check_secret_name(name: str) -> None:
    """Check the name of a secret. Raises ValueError; its message says what a name is."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r:.100} is not a name: {_NAMES}")


def _check_path(path: str) -> None:
    parts = path.split("/")
    if _CONTROLS.search(path) or ".." in parts or parts[-1] in ("", "."):
        raise ValueError(
            f"{path!r:.100} is not the path of a file: write it without '..', and with the name of a file at its end"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFacts:
    """What is known of a stored secret beside its value."""

    user: str
    name: str
    #: 1 for the first value under this name; each further value has the next number.
    version: int
    #: Bytes of its value.
    size: int
    #: Whether its value can be a variable: UTF-8 without NUL.
    text: bool
    set_at: datetime
    #: When a run has got it last, and the task of that run; None: none has.
    used_at: datetime | None = None
    used_by: TaskId | None = None
