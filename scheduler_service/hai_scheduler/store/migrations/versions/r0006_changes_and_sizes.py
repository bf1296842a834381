"""Numbers of writes, by which changed tasks are found, and sizes of tasks, for the limit on what users store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("hai_tasks", recreate="never") as tasks:
        tasks.add_column(sa.Column("change", sa.BigInteger(), server_default="0", nullable=False))
        tasks.add_column(sa.Column("size", sa.BigInteger(), server_default="0", nullable=False))
    op.create_index("ix_hai_tasks_change", "hai_tasks", ["change"])


def downgrade() -> None:
    op.drop_index("ix_hai_tasks_change", table_name="hai_tasks")
    with op.batch_alter_table("hai_tasks", recreate="never") as tasks:
        tasks.drop_column("size")
        tasks.drop_column("change")
