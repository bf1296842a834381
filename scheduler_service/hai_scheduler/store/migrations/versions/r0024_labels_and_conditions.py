"""Tags by which tasks are found, stars of users, and since when nodes are as they are."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

#: Tasks whose tags are taken over at once.
_PIECE = 1000


def upgrade() -> None:
    op.create_table(
        "hai_task_tags",
        sa.Column("task_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["hai_tasks.id"], name="fk_hai_task_tags_task_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("task_id", "tag", name="pk_hai_task_tags"),
    )
    op.create_index("ix_hai_task_tags_tag", "hai_task_tags", ["tag", "task_id"])
    op.create_table(
        "hai_stars",
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("task_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["hai_tasks.id"], name="fk_hai_stars_task_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_name", "task_id", name="pk_hai_stars"),
    )
    op.create_index("ix_hai_stars_task_id", "hai_stars", ["task_id"])
    op.create_table(
        "hai_node_conditions",
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("ready", sa.Boolean(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("changed_by", sa.Text()),
        sa.PrimaryKeyConstraint("node", name="pk_hai_node_conditions"),
    )
    _take_over_tags()


def _take_over_tags() -> None:
    connection, last = op.get_bind(), 0
    specs = sa.table("hai_specs", sa.column("task_id", sa.BigInteger), sa.column("tags", sa.Text))
    tags = sa.table("hai_task_tags", sa.column("task_id", sa.BigInteger), sa.column("tag", sa.Text))
    some = sa.select(specs.c.task_id, sa.cast(specs.c.tags, sa.Text)).order_by(specs.c.task_id).limit(_PIECE)
    while rows := connection.execute(some.where(specs.c.task_id > last)).all():
        last = rows[-1][0]
        found = [
            {"task_id": task_id, "tag": tag}
            for task_id, text in rows
            for tag in dict.fromkeys(json.loads(text or "[]"))
        ]
        if found:
            connection.execute(sa.insert(tags), found)


def downgrade() -> None:
    for name in ("hai_node_conditions", "hai_stars", "hai_task_tags"):
        op.drop_table(name)
