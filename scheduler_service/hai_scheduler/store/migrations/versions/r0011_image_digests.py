"""Tasks store the image that they go on with, with its digest."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("hai_specs", recreate="never") as columns:
        columns.add_column(sa.Column("image", sa.Text()))


def downgrade() -> None:
    with op.batch_alter_table("hai_specs", recreate="never") as columns:
        columns.drop_column("image")
