"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _create_tasks()
    _create_specs_and_runs()
    _create_events()
    _create_facts()


def _create_tasks() -> None:
    op.create_table(
        "hai_tasks",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("group_name", sa.Text(), nullable=False),
        sa.Column("priority", sa.SmallInteger()),
        sa.Column("nodes", sa.Integer(), nullable=False),
        sa.Column("submitted_at", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("grace", sa.BigInteger(), nullable=False),
        sa.Column("time_limit", sa.BigInteger()),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("ended", sa.Boolean(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.Column("custom_rank", sa.Double()),
        sa.Column("run_number", sa.Integer()),
        sa.Column("served", sa.BigInteger(), nullable=False),
        sa.Column("suspensions", sa.Integer(), nullable=False),
        sa.Column("avoid", sa.JSON()),
        sa.Column("promise", sa.JSON()),
        sa.Column("failed_starts", sa.Integer(), nullable=False),
        sa.Column("checkpoint", sa.JSON()),
        sa.Column("job_state", sa.Text()),
        sa.Column("reason", sa.Text()),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("saved_at", sa.BigInteger(), nullable=False),
        sa.Column("idempotency_key", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_hai_tasks"),
        sa.UniqueConstraint("user_name", "idempotency_key", name="uq_hai_tasks_idempotency_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_hai_tasks_by_name", "hai_tasks", ["user_name", "ended", "name", "id"])
    op.create_index("ix_hai_tasks_of_user", "hai_tasks", ["user_name", "id"])
    op.create_index("ix_hai_tasks_unfinished", "hai_tasks", ["ended", "id"])
    op.create_index("ix_hai_tasks_ended_at", "hai_tasks", ["ended", "ended_at", "id"])


def _create_specs_and_runs() -> None:
    op.create_table(
        "hai_specs",
        sa.Column("task_id", ID, autoincrement=False, nullable=False),
        sa.Column("command", sa.JSON(), nullable=False),
        sa.Column("cwd", sa.Text(), nullable=False),
        sa.Column("env", sa.JSON(), nullable=False),
        sa.Column("checkpoint_dir", sa.Text()),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("task_id", name="pk_hai_specs"),
        sa.ForeignKeyConstraint(["task_id"], ["hai_tasks.id"], name="fk_hai_specs_task_id", ondelete="CASCADE"),
    )
    op.create_table(
        "hai_runs",
        sa.Column("task_id", ID, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("ranks", sa.JSON(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("running_at", sa.BigInteger()),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("notice", sa.JSON()),
        sa.Column("killed_at", sa.BigInteger()),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.Column("checkpoint", sa.JSON()),
        sa.Column("reason", sa.Text()),
        sa.Column("clean", sa.Boolean()),
        sa.Column("lost", sa.BigInteger()),
        sa.PrimaryKeyConstraint("task_id", "number", name="pk_hai_runs"),
        sa.ForeignKeyConstraint(["task_id"], ["hai_tasks.id"], name="fk_hai_runs_task_id", ondelete="CASCADE"),
    )


def _create_events() -> None:
    op.create_table(
        "hai_events",
        sa.Column("seq", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("user_name", sa.Text()),
        sa.Column("task_id", sa.BigInteger()),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_hai_events"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_hai_events_of_user", "hai_events", ["user_name", "seq"])
    op.create_index("ix_hai_events_of_task", "hai_events", ["task_id", "seq"])


def _create_facts() -> None:
    op.create_table(
        "hai_quotas",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("group_name", sa.Text(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("node_limit", sa.Integer()),
        sa.PrimaryKeyConstraint("subject", "group_name", "priority", name="pk_hai_quotas"),
    )
    op.create_table(
        "hai_users",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("groups", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_hai_users"),
    )
    op.create_table(
        "hai_node_marks",
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("node", name="pk_hai_node_marks"),
    )
    op.create_table(
        "hai_settings",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_hai_settings"),
    )
    op.create_table(
        "hai_lease",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("holder", sa.Text()),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hai_lease"),
    )


def downgrade() -> None:
    for table in ("lease", "settings", "node_marks", "users", "quotas", "events", "runs", "specs", "tasks"):
        op.drop_table(f"hai_{table}")
