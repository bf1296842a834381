"""The tables of notifications, which `tables` has no room for: rules of users, the outbox, and deliveries."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text

from hai_scheduler.store.tables import METADATA, Id, Instant

#: What users are told, and where; `data` is all but the name.
NOTIFICATION_RULES = Table(
    "hai_notification_rules",
    METADATA,
    Column("user_name", Text, primary_key=True),
    Column("data", JSON, nullable=False),
)

#: The outbox. No foreign key to tasks: a notification outlives its task.
NOTIFICATIONS = Table(
    "hai_notifications",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("user_name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("key", Text, nullable=False),
    Column("task_id", BigInteger),
    # Sentence, parameters, channels and lines.
    Column("data", JSON, nullable=False),
    Column("routed", Boolean, nullable=False),
    Column("seen", Boolean, nullable=False),
    Index("ix_hai_notifications_of_user", "user_name", "id"),
    Index("ix_hai_notifications_routed", "routed", "id"),
    Index("ix_hai_notifications_key", "key"),
    Index("ix_hai_notifications_at", "at"),
    # A number is never given twice: clients remember the greatest that they know.
    sqlite_autoincrement=True,
)

#: A notification over one channel.
DELIVERIES = Table(
    "hai_deliveries",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("notification", Id, ForeignKey("hai_notifications.id", ondelete="CASCADE"), nullable=False),
    Column("user_name", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("next_at", Instant, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("ended_at", Instant),
    Column("error", Text),
    # The first delivery of the digest that it is sent in.
    Column("digest", BigInteger),
    Index("ix_hai_deliveries_due", "state", "next_at"),
    Index("ix_hai_deliveries_ended", "state", "ended_at"),
    Index("ix_hai_deliveries_of", "notification"),
    Index("ix_hai_deliveries_of_user", "user_name", "channel", "id"),
    # A number is never given twice: receivers know a message by it.
    sqlite_autoincrement=True,
)
