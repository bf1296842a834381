"""Models of who a user's processes are."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hai_scheduler.api.wire.base import Input, Output
from hai_scheduler.core.workspace.identity import MAX_GROUPS

_Id = Annotated[int, Field(strict=True, ge=-(2**31), le=2**32 - 1)]
_Name = Annotated[str, Field(max_length=255)]
_Path = Annotated[str, Field(max_length=4095)]


class UnixGroupIn(Input):
    """A group of accounts, as a login told it."""

    gid: _Id
    #: Empty: it is not known.
    name: _Name = ""


class IdentityPut(Input):
    """What the latest login of a user told of their account."""

    uid: _Id
    #: New files are of the first one.
    groups: Annotated[list[UnixGroupIn], Field(min_length=1, max_length=MAX_GROUPS)]
    #: Absolute; empty: none is known.
    home: _Path = ""
    shell: _Path = "/bin/sh"


class UnixGroupOut(Output):
    """A group of accounts."""

    gid: int
    #: Empty: it is not known.
    name: str


class IdentityOut(Output):
    """The account that a user's processes run as."""

    name: str
    uid: int
    #: New files are of the first one.
    groups: list[UnixGroupOut]
    #: Empty: none is known.
    home: str
    shell: str
