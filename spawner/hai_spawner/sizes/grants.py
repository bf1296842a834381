"""Grants: which servers there are or are being started, known without a delay.

A pod that has just been asked for is in no list yet, so two users at the same moment would both get the last GPU.
The Hub is one process: what it has granted is kept here, from the decision until the server is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A server that may exist.

    Attributes:
        user: Its owner.
        server: Its name; empty for the default one.
        size: Name of its size; empty where there are none.
        groups: The owner's groups when it was granted.
        devices: Indices of devices that it was given, where the spawner hands them out itself.
    """

    user: str
    server: str
    size: str
    groups: frozenset[str] = frozenset()
    devices: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by."""
        return self.user, self.server

    def to_state(self) -> dict[str, Any]:
        """As the Hub keeps it over a restart."""
        return {"size": self.size, "groups": sorted(self.groups), "devices": list(self.devices)}

    @classmethod
    def from_state(cls, user: str, server: str, state: dict[str, Any]) -> Grant:
        """What `to_state` wrote."""
        return cls(
            user=user,
            server=server,
            size=str(state["size"]),
            groups=frozenset(map(str, state.get("groups", ()))),
            devices=tuple(map(int, state.get("devices", ()))),
        )


class Ledger:
    """All grants of this Hub."""

    def __init__(self) -> None:
        self._grants: dict[tuple[str, str], Grant] = {}

    def add(self, grant: Grant) -> None:
        """Note a grant, in the place of an earlier one of the same server."""
        self._grants[grant.key] = grant

    def get(self, user: str, server: str) -> Grant | None:
        """The grant of a server."""
        return self._grants.get((user, server))

    def remove(self, user: str, server: str) -> None:
        """The server is gone; no error when it was not there."""
        self._grants.pop((user, server), None)

    def others(self, user: str, server: str) -> list[Grant]:
        """All but the one of this server."""
        return [grant for grant in self if grant.key != (user, server)]

    def __iter__(self) -> Iterator[Grant]:
        return iter(tuple(self._grants.values()))
