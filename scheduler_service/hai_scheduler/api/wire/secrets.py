"""Models of users' secrets. None has a value: it comes as the bytes of a body, and goes to the ranks of runs alone."""

from __future__ import annotations

from datetime import datetime

from hai_scheduler.api.wire.base import Output


class OwnSecretOut(Output):
    """A secret of the caller, without its value, which nobody is shown."""

    name: str
    #: How often it was set.
    version: int
    #: Whether it can be a variable, as its value is UTF-8 without NUL; else it can be a file.
    text: bool
    #: Whether it is looked for in logs: it has 8 bytes or more.
    redacted: bool
    set_at: datetime
    #: When a run has got it last, and the task of that run; null: none has.
    used_at: datetime | None
    used_by: int | None


class SecretList(Output):
    """The caller's secrets, by name."""

    items: list[OwnSecretOut]


class ResealedOut(Output):
    """What became of the secrets of all users after a change of keys."""

    #: How many were sealed again with the newest key, and how many were sealed with it before.
    resealed: int
    already: int
    #: How many no key opens, and some of them as `USER/NAME`: their users must set them again.
    lost: int
    lost_names: list[str]
