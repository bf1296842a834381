"""Translates errors of a database into errors of the Store port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from hai_scheduler.ports.errors import Temporary

#: SQLSTATEs, or their classes, of what may pass while the statement stays the same and that are no OperationalError:
#: a read-only transaction (a standby, or `default_transaction_read_only`), and internal errors of the server.
_MAY_PASS = ("25006", "XX")


@contextmanager
def translated() -> Iterator[None]:
    """Raise Temporary for database errors of the block that may pass; errors of HAI itself are raised unchanged."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise Temporary(f"the state database does not answer: {error.orig}") from error
    except PoolTimeout as error:
        raise Temporary("the state database is busy: no connection became free") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise Temporary(f"the connection to the state database broke: {error.orig}") from error
        if str(getattr(error.orig, "sqlstate", None)).startswith(_MAY_PASS):
            raise Temporary(f"the state database takes no changes now: {error.orig}") from error
        raise
