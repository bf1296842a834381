"""Mount rules, environments, and the environment that a task runs in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "hai_mount_rules",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text()),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("mount_path", sa.Text(), nullable=False),
        sa.Column("read_only", sa.Boolean(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("node_group", sa.Text()),
        sa.Column("description", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_hai_mount_rules"),
    )
    op.create_table(
        "hai_environments",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("image", sa.Text()),
        sa.Column("python", sa.Text()),
        sa.Column("variables", sa.JSON(), nullable=False),
        sa.Column("subjects", sa.JSON(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_hai_environments"),
    )
    with op.batch_alter_table("hai_specs", recreate="never") as specs:
        specs.add_column(sa.Column("environment", sa.Text()))


def downgrade() -> None:
    with op.batch_alter_table("hai_specs", recreate="never") as specs:
        specs.drop_column("environment")
    op.drop_table("hai_environments")
    op.drop_table("hai_mount_rules")
