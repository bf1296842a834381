"""Rates, budgets of user groups, and how much node time there was."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "hai_rates",
        sa.Column("node_group", sa.Text(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("valid_from", sa.Text(), nullable=False),
        sa.Column("per_node_hour", sa.Text(), nullable=False),
        sa.Column("per_gpu_hour", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("node_group", "priority", "valid_from", name="pk_hai_rates"),
    )
    op.create_table(
        "hai_budgets",
        sa.Column("user_group", sa.Text(), nullable=False),
        sa.Column("measure", sa.Text(), nullable=False),
        sa.Column("most", sa.Text(), nullable=False),
        sa.Column("window_days", sa.Integer(), nullable=False),
        sa.Column("currency", sa.Text()),
        sa.PrimaryKeyConstraint("user_group", name="pk_hai_budgets"),
    )
    op.create_table(
        "hai_capacity",
        sa.Column("hour", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("node_group", sa.Text(), nullable=False),
        sa.Column("node_us", sa.BigInteger(), nullable=False),
        sa.Column("gpu_us", sa.BigInteger(), nullable=False),
        sa.Column("down_us", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hour", "node_group", name="pk_hai_capacity"),
    )


def downgrade() -> None:
    for name in ("hai_capacity", "hai_budgets", "hai_rates"):
        op.drop_table(name)
