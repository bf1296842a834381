"""Small named values of the platform, in a transaction of the store."""

from __future__ import annotations

from typing import Protocol


class StoredSettings(Protocol):
    """Small named values of the platform, such as `paused`. Each use case knows the names and formats of its own."""

    async def get(self, name: str) -> str | None:
        """The value of that name; None if it is not set."""
        ...

    async def put(self, name: str, value: str | None) -> None:
        """Write the value; None removes it."""
        ...
