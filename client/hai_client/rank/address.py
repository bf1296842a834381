"""Where the service is now: it may have moved to another port since the rank was started."""
# ruff: noqa: PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

#: Longer than any list of addresses.
MAX_BYTES = 16 * 1024


class Address:
    """The address of the service, read anew for every call.

    A rank cannot know that the service has moved from a call that fails: on the old port another program may answer.

    Args:
        url: The address from when the rank was started.
        path: The file that services write at their start: an address a line, the latest first. None: there is none.
    """

    def __init__(self, url: str, path: str | None) -> None:
        self._url = url
        self._path = path
        self._failures = 0

    def current(self) -> str:
        """What to call."""
        return self.among(self.urls())

    def among(self, urls: list[str]) -> str:
        """Which of the addresses to call."""
        return urls[self._failures % len(urls)]

    def failed(self) -> None:
        """Nobody answered there: the next one, if there are several services."""
        self._failures += 1

    def urls(self) -> list[str]:
        """All addresses that are known now, the latest first; at least one."""
        if self._path is None:
            return [self._url]
        try:
            with open(self._path, "rb") as file:
                lines = file.read(MAX_BYTES).decode("ascii", "replace").split()
        except OSError:
            lines = []
        return [line for line in lines if line.startswith(("http://", "https://"))] or [self._url]
