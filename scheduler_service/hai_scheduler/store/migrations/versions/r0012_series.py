"""Series of the metrics that ranks send."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "hai_series",
        sa.Column("id", ID, nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("packed", sa.Boolean(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hai_series"),
    )
    op.create_index("ix_hai_series_of_rank", "hai_series", ["run_id", "rank", "step", "until"])
    op.create_index("ix_hai_series_to_pack", "hai_series", ["step", "packed", "until"])


def downgrade() -> None:
    op.drop_table("hai_series")
