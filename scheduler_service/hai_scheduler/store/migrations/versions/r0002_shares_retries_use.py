"""GPUs of a node, retries, failed ranks, what switching costs, decayed use, strikes, ceilings and ends of quota.

No table is created again, though Alembic's batch mode would do so on SQLite: dropping `hai_tasks` would delete the
specs and runs too (ON DELETE CASCADE), and ids that were given could be given again.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _columns_of_tasks() -> list[sa.Column[object]]:
    return [
        sa.Column("gpus", sa.Integer()),
        sa.Column("retry", sa.JSON()),
        sa.Column("retries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("not_before", sa.BigInteger()),
        sa.Column("rotations", sa.JSON()),
        sa.Column("leaving_took", sa.BigInteger()),
        sa.Column("starting_took", sa.BigInteger()),
    ]


def _columns_of_quotas() -> list[sa.Column[object]]:
    return [sa.Column("ceiling", sa.Integer()), sa.Column("expires_at", sa.BigInteger())]


def upgrade() -> None:
    with op.batch_alter_table("hai_tasks", recreate="never") as tasks:
        tasks.alter_column("place", new_column_name="waiting_since")
        for column in _columns_of_tasks():
            tasks.add_column(column)
    with op.batch_alter_table("hai_runs", recreate="never") as runs:
        runs.add_column(sa.Column("failed_ranks", sa.JSON()))
    with op.batch_alter_table("hai_quotas", recreate="never") as quotas:
        for column in _columns_of_quotas():
            quotas.add_column(column)
    op.create_table(
        "hai_uses",
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("group_name", sa.Text(), nullable=False),
        sa.Column("node_seconds", sa.Double(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user_name", "group_name", name="pk_hai_uses"),
    )
    op.create_table(
        "hai_strikes",
        sa.Column("id", ID, nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hai_strikes"),
    )


def downgrade() -> None:
    # The first tables' code knows no such mark.
    op.execute("DELETE FROM hai_node_marks WHERE mark = 'quarantined'")
    op.drop_table("hai_strikes")
    op.drop_table("hai_uses")
    with op.batch_alter_table("hai_quotas", recreate="never") as quotas:
        for column in _columns_of_quotas():
            quotas.drop_column(column.name)
    with op.batch_alter_table("hai_runs", recreate="never") as runs:
        runs.drop_column("failed_ranks")
    with op.batch_alter_table("hai_tasks", recreate="never") as tasks:
        for column in _columns_of_tasks():
            tasks.drop_column(column.name)
        tasks.alter_column("waiting_since", new_column_name="place")
