"""The script that Alembic runs; `migrate` gives it a connection with an open transaction."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from hai_scheduler.store.revision import VERSION_TABLE
from hai_scheduler.store.tables import METADATA


def _migrate(connection: Connection | None) -> None:
    if connection is None:
        raise RuntimeError("run migrations with hai_scheduler.store.migrate")
    context.configure(connection=connection, target_metadata=METADATA, version_table=VERSION_TABLE)
    # All revisions run in the caller's transaction: all are applied or none.
    context.run_migrations()


_migrate(context.config.attributes.get("connection"))
