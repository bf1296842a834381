"""The error that ends `hai up` with one line."""

from __future__ import annotations

from typing import Final

FAILED: Final = 1
WRONG_INPUT: Final = 2


class UpError(Exception):
    """Why `hai up` cannot go on: one sentence that names what is wrong and what to do.

    Attributes:
        exit_code: 1 when something failed, 2 when the input or the environment is wrong.
        detail: Lines to show below the sentence, such as the end of a log.
    """

    def __init__(self, message: str, *, exit_code: int = FAILED, detail: str = "") -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.detail = detail


def wrong_input(message: str) -> UpError:
    """Return an error that the user of `hai up` can correct."""
    return UpError(message, exit_code=WRONG_INPUT)
