"""The table of users' secrets; see `tables`, whose other half this is."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, Table, Text

from hai_scheduler.store.tables import METADATA, Instant

#: No value is here in the clear: `sealed` is what `ports.vault.Vault` has made of it.
SECRETS = Table(
    "hai_secrets",
    METADATA,
    Column("user_name", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("size", Integer, nullable=False),
    Column("text", Boolean, nullable=False),
    Column("set_at", Instant, nullable=False),
    Column("used_at", Instant),
    # No foreign key: it is kept when the task is forgotten.
    Column("used_by", BigInteger),
    # The last one: lists leave it out.
    Column("sealed", LargeBinary, nullable=False),
)
