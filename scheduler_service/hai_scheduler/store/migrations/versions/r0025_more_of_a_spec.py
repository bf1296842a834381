"""Specifications have a column for all fields that no statement asks for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("hai_specs", recreate="never") as columns:
        columns.add_column(sa.Column("more", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    with op.batch_alter_table("hai_specs", recreate="never") as columns:
        columns.drop_column("more")
