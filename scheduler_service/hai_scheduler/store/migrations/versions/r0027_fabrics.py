"""Fabrics: what the network of a node group asks of pods, and for whom."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.create_table(
        "hai_fabrics",
        sa.Column("group_name", sa.Text(), primary_key=True),
        sa.Column("subject", sa.Text(), primary_key=True),
        sa.Column("data", sa.JSON(), nullable=False),
    )
