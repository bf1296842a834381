"""The tables of what is known of tasks and nodes beside the scheduling; see `tables`, whose other half this is."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, Table, Text

from hai_scheduler.store.tables import METADATA, Id, Instant

#: The tags of the specifications once more, for lists of the tasks with a tag.
TASK_TAGS = Table(
    "hai_task_tags",
    METADATA,
    Column("task_id", Id, ForeignKey("hai_tasks.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("tag", Text, primary_key=True),
    Index("ix_hai_task_tags_tag", "tag", "task_id"),
)

#: The tasks that users have starred.
STARS = Table(
    "hai_stars",
    METADATA,
    Column("user_name", Text, primary_key=True),
    Column("task_id", Id, ForeignKey("hai_tasks.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Index("ix_hai_stars_task_id", "task_id"),
)

#: How each node is, and since when (`core.model.node.NodeCondition`).
NODE_CONDITIONS = Table(
    "hai_node_conditions",
    METADATA,
    Column("node", Text, primary_key=True),
    Column("ready", Boolean, nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("mark", Text, nullable=False),
    Column("since", Instant, nullable=False),
    # NULL: no admin, but the cluster or the scheduler.
    Column("changed_by", Text),
)
