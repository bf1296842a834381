"""How long the database and the cluster take to answer: adapters tell it, and the service counts it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from hai_scheduler.ports.errors import Temporary


class Timings(Protocol):
    """Takes timings. It is called often and from one thread, and raises nothing."""

    def database(self, op: str, seconds: float) -> None:
        """A statement took this long; `op` is one of few words."""
        ...

    def cluster(self, verb: str, code: str, seconds: float) -> None:
        """A request to the cluster took this long; `verb` and `code` are one of few words each."""
        ...


class Untimed:
    """Takes timings and forgets them."""

    def database(self, op: str, seconds: float) -> None:
        """Do nothing."""

    def cluster(self, verb: str, code: str, seconds: float) -> None:
        """Do nothing."""


@contextmanager
def timed_request(timings: Timings, verb: str) -> Iterator[None]:
    """Time a request to a cluster that knows no codes: `ok`, `busy` for what may pass, else `error`."""
    began, code = time.perf_counter(), "ok"
    try:
        yield
    except Temporary:
        code = "busy"
        raise
    except Exception:
        code = "error"
        raise
    finally:
        timings.cluster(verb, code, time.perf_counter() - began)
