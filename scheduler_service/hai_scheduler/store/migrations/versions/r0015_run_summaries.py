"""Runs store what their ranks used."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("hai_runs", recreate="never") as columns:
        columns.add_column(sa.Column("summary", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    with op.batch_alter_table("hai_runs", recreate="never") as columns:
        columns.drop_column("summary")
