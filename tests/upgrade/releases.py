"""Databases that releases have filled by their own code (`upgrade.filling`)."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import NamedTemporaryFile

from sqlalchemy.ext.asyncio import AsyncEngine

KEPT = Path(__file__).with_name("databases")
#: The versions of which there are databases, the oldest first.
RELEASES = sorted((file.name.removesuffix(".sql.gz") for file in KEPT.glob("*.sql.gz")), key=lambda v: v.split("."))


async def put(engine: AsyncEngine, version: str) -> None:
    """Put what a release has filled into an empty database."""
    if engine.dialect.name == "sqlite":
        with NamedTemporaryFile(suffix=".sqlite") as filled:
            filled.write(gzip.decompress((KEPT / f"{version}.sqlite.gz").read_bytes()))
            filled.flush()
            with (
                closing(sqlite3.connect(filled.name)) as kept,
                closing(sqlite3.connect(str(engine.url.database))) as it,
            ):
                kept.backup(it)
        return
    dump = gzip.decompress((KEPT / f"{version}.sql.gz").read_bytes()).decode()
    async with engine.begin() as connection:
        await connection.exec_driver_sql(dump.replace("%", "%%"))
