"""Finds the service's present address: it may have moved to another port since the rank was started."""
# ruff: noqa: PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

#: Most bytes to read of the file; a list of addresses is shorter.
MAX_BYTES = 16 * 1024


class Address:
    """The address of the service, read again for every call.

    A failed call is not enough to notice that the service has moved: another program may answer on the old port.

    Args:
        url: The service's address when the rank was started.
        path: The file that services write when they start: one address a line, the latest first. None: no such file.
    """

    def __init__(self, url: str, path: str | None) -> None:
        self._url = url
        self._path = path
        self._failures = 0

    def current(self) -> str:
        """Return the address to call."""
        return self.among(self.urls())

    def among(self, urls: list[str]) -> str:
        """Return the one of these addresses to call."""
        return urls[self._failures % len(urls)]

    def failed(self) -> None:
        """Note that a call failed: with several services the next call goes to the next address."""
        self._failures += 1

    def urls(self) -> list[str]:
        """Return all addresses that are known now, the latest first; at least one."""
        if self._path is None:
            return [self._url]
        try:
            with open(self._path, "rb") as file:
                lines = file.read(MAX_BYTES).decode("ascii", "replace").split()
        except OSError:
            lines = []
        return [line for line in lines if line.startswith(("http://", "https://"))] or [self._url]
