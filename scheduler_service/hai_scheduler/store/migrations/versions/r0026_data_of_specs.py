"""Specifications have a column for fields without one."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    with op.batch_alter_table("hai_specs", recreate="never") as specs:
        specs.add_column(sa.Column("data", sa.JSON(none_as_null=True)))
