"""Tasks store the snapshot of the code in which their runs start."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("hai_specs", recreate="never") as columns:
        columns.add_column(sa.Column("snapshot", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    with op.batch_alter_table("hai_specs", recreate="never") as columns:
        columns.drop_column("snapshot")
