"""Visits of users, archived users, and the audit."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "hai_visits",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("admin_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("name", name="pk_hai_visits"),
    )
    op.create_table(
        "hai_archived_users",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("by_name", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_hai_archived_users"),
    )
    op.create_table(
        "hai_audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("before", sa.JSON(none_as_null=True)),
        sa.Column("after", sa.JSON(none_as_null=True)),
        sa.Column("address", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_hai_audit"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_hai_audit_at", "hai_audit", ["at"])
    op.create_index("ix_hai_audit_of_actor", "hai_audit", ["actor", "id"])
    op.create_index("ix_hai_audit_of_subject", "hai_audit", ["subject", "id"])


def downgrade() -> None:
    for name in ("hai_audit", "hai_archived_users", "hai_visits"):
        op.drop_table(name)
