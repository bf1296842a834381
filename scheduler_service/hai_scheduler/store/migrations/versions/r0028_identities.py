"""Who the processes of a user are, by what the user's latest login told."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.create_table(
        "hai_identities",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("uid", sa.BigInteger(), nullable=False),
        sa.Column("groups", sa.JSON(), nullable=False),
        sa.Column("home", sa.Text(), nullable=False),
        sa.Column("shell", sa.Text(), nullable=False),
    )
