"""Recordings of what tasks do, and their traces."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "hai_recordings",
        sa.Column("id", ID, nullable=False),
        sa.Column("task_id", ID, nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["hai_tasks.id"], name="fk_hai_recordings_task_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_hai_recordings"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_hai_recordings_of_task", "hai_recordings", ["task_id", "id"])
    op.create_index("ix_hai_recordings_of_run", "hai_recordings", ["run_id", "id"])
    op.create_index("ix_hai_recordings_of_user", "hai_recordings", ["user_name", "id"])
    op.create_table(
        "hai_trace_pieces",
        sa.Column("recording", ID, autoincrement=False, nullable=False),
        sa.Column("rank", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("trace", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("start", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("next", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["recording"], ["hai_recordings.id"], name="fk_hai_trace_pieces_recording", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("recording", "rank", "trace", "start", name="pk_hai_trace_pieces"),
    )


def downgrade() -> None:
    op.drop_table("hai_trace_pieces")
    op.drop_table("hai_recordings")
