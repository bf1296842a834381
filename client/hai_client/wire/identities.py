"""Who the processes of a user are, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from hai_client.backports import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UnixGroup:
    """A group of accounts."""

    gid: int
    name: str  #: Empty: it is not known.


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The account that a user's processes run as."""

    name: str
    uid: int
    groups: tuple[UnixGroup, ...]  #: New files are of the first one.
    home: str  #: Empty: none is known.
    shell: str
