"""Tasks store the generation of the environment of haienv that they go on with; runs store what they started with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_TABLES = ("hai_specs", "hai_runs")


def upgrade() -> None:
    for table in _TABLES:
        with op.batch_alter_table(table, recreate="never") as columns:
            columns.add_column(sa.Column("haienv", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    for table in _TABLES:
        with op.batch_alter_table(table, recreate="never") as columns:
            columns.drop_column("haienv")
