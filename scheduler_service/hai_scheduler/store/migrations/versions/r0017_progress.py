"""The progress that jobs report."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "hai_progress",
        sa.Column("task_id", ID, autoincrement=False, nullable=False),
        sa.Column("run_number", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("begin_step", sa.BigInteger(), nullable=False),
        sa.Column("begin_at", sa.BigInteger(), nullable=False),
        sa.Column("pace_s", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["task_id"], ["hai_tasks.id"], name="fk_hai_progress_task_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("task_id", name="pk_hai_progress"),
    )


def downgrade() -> None:
    op.drop_table("hai_progress")
