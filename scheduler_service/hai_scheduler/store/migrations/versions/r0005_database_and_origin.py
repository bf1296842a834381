"""The identity of the database, how far it has come, and which runs are its own (decision 0016)."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("hai_runs", recreate="never") as runs:
        runs.add_column(sa.Column("origin", sa.Text()))
    made = op.create_table(
        "hai_database",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("steps", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("first_task", sa.BigInteger(), nullable=False),
        sa.Column("above", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hai_database"),
    )
    counted = sa.text("SELECT count(*), coalesce(max(number), 0) FROM hai_runs")
    steps, number = op.get_bind().execute(counted).one()
    row = {"id": 1, "name": secrets.token_hex(8), "epoch": 1, "first_task": 0, "above": 0}
    op.bulk_insert(made, [{**row, "steps": steps, "number": number}])


def downgrade() -> None:
    op.drop_table("hai_database")
    with op.batch_alter_table("hai_runs", recreate="never") as runs:
        runs.drop_column("origin")
