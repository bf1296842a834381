"""What is made of trouble with the files of this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hai_scheduler.ports.errors import Temporary


@contextlib.contextmanager
def as_temporary(what: str) -> Iterator[None]:
    """Raise Temporary for an OSError of the block: file errors of this machine are worth another try."""
    try:
        yield
    except OSError as error:
        raise Temporary(f"{what}: {error.strerror or error}") from error
