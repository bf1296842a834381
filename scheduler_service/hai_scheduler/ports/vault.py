"""The vault: seals the values of users' secrets before they are stored, and opens them when a run starts."""

from __future__ import annotations

from typing import Protocol


class CannotOpen(Exception):
    """A sealed value does not open: its key is not there any more, or it was sealed for another user, name or version.

    The message shows nothing of the value.
    """


class Vault(Protocol):
    """Seals and opens values. What is sealed opens only for the user, the name and the version it was sealed for."""

    def seal(self, value: bytes, *, user: str, name: str, version: int) -> bytes:
        """Seal a value with the newest key."""
        ...

    def open(self, sealed: bytes, *, user: str, name: str, version: int) -> bytes:
        """Return the value. Raises CannotOpen."""
        ...

    def by_newest(self, sealed: bytes) -> bool:
        """Whether the newest key has sealed it."""
        ...
