"""Images have the architecture and the glibc that an admin gives."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("hai_environments", recreate="never") as columns:
        columns.add_column(sa.Column("machine", sa.Text()))
        columns.add_column(sa.Column("glibc", sa.Text()))


def downgrade() -> None:
    with op.batch_alter_table("hai_environments", recreate="never") as columns:
        columns.drop_column("glibc")
        columns.drop_column("machine")
