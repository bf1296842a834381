"""Notifications, their deliveries, and the rules of users."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "hai_notification_rules",
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("user_name", name="pk_hai_notification_rules"),
    )
    op.create_table(
        "hai_notifications",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("task_id", sa.BigInteger()),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("routed", sa.Boolean(), nullable=False),
        sa.Column("seen", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hai_notifications"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_hai_notifications_of_user", "hai_notifications", ["user_name", "id"])
    op.create_index("ix_hai_notifications_routed", "hai_notifications", ["routed", "id"])
    op.create_index("ix_hai_notifications_key", "hai_notifications", ["key"])
    op.create_index("ix_hai_notifications_at", "hai_notifications", ["at"])
    op.create_table(
        "hai_deliveries",
        sa.Column("id", ID, nullable=False),
        sa.Column("notification", ID, nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("error", sa.Text()),
        sa.Column("digest", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["notification"], ["hai_notifications.id"], name="fk_hai_deliveries_notification", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_hai_deliveries"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_hai_deliveries_due", "hai_deliveries", ["state", "next_at"])
    op.create_index("ix_hai_deliveries_ended", "hai_deliveries", ["state", "ended_at"])
    op.create_index("ix_hai_deliveries_of", "hai_deliveries", ["notification"])
    op.create_index("ix_hai_deliveries_of_user", "hai_deliveries", ["user_name", "channel", "id"])


def downgrade() -> None:
    op.drop_table("hai_deliveries")
    op.drop_table("hai_notifications")
    op.drop_table("hai_notification_rules")
