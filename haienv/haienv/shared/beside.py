"""Work that is done in a thread while the caller waits for a program such as uv."""

from __future__ import annotations

import threading
from typing import Callable, Generic, TypeVar

Result = TypeVar("Result")


class Beside(Generic[Result]):
    """Work that has begun; `result` waits for it.

    Args:
        work: What is done. Nothing of it is undone where nobody asks for the result.
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._result: list[Result] = []
        self._error: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self) -> Result:
        """Return what the work has returned, or raise what it has raised."""
        self._thread.join()
        for error in self._error:
            raise error
        return self._result[0]

    def _run(self) -> None:
        try:
            self._result.append(self._work())
        except BaseException as error:  # noqa: BLE001  the caller gets it
            self._error.append(error)
