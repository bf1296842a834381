"""How a run has left is one of three ways, by evidence; signals of users' choice, watched paths.

Older versions called a run clean by its exit status alone, but a process without a handler can end with that status
too. So such a run counts as saved only if the job said so, or if a checkpoint was made after the notice.
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_RUNS = sa.table(
    "hai_runs",
    sa.column("task_id", sa.BigInteger),
    sa.column("number", sa.Integer),
    sa.column("clean", sa.Boolean),
    sa.column("left", sa.Text),
    sa.column("done", sa.Boolean),
    sa.column("notice", sa.Text),
    sa.column("checkpoint", sa.Text),
)


def upgrade() -> None:
    with op.batch_alter_table("hai_tasks", recreate="never") as tasks:
        tasks.add_column(sa.Column("signal", sa.JSON(none_as_null=True)))
        tasks.add_column(sa.Column("unsaved", sa.Integer(), server_default="0", nullable=False))
    with op.batch_alter_table("hai_specs", recreate="never") as specs:
        specs.add_column(sa.Column("watch", sa.JSON(none_as_null=True)))
    with op.batch_alter_table("hai_runs", recreate="never") as runs:
        runs.add_column(sa.Column("left", sa.Text()))
    bind, columns = op.get_bind(), _RUNS.c
    said = sa.case((columns.done == sa.true(), "saved"), else_="unknown")
    bind.execute(_RUNS.update().where(columns.clean == sa.true()).values(left=said))
    bind.execute(_RUNS.update().where(columns.clean == sa.false()).values(left="ended"))
    doubtful = sa.and_(columns.left == "unknown", columns.checkpoint.is_not(None), columns.notice.is_not(None))
    found = sa.select(columns.task_id, columns.number, _text(columns.notice), _text(columns.checkpoint)).where(doubtful)
    saved = [
        {"_task": task, "_number": number}
        for task, number, notice, checkpoint in bind.execute(found).all()
        if _since(notice, checkpoint)
    ]
    if saved:
        one = sa.and_(columns.task_id == sa.bindparam("_task"), columns.number == sa.bindparam("_number"))
        bind.execute(_RUNS.update().where(one).values(left="saved"), saved)
    with op.batch_alter_table("hai_runs", recreate="never") as runs:
        runs.drop_column("clean")


def downgrade() -> None:
    with op.batch_alter_table("hai_runs", recreate="never") as runs:
        runs.add_column(sa.Column("clean", sa.Boolean()))
    known = _RUNS.c.left.is_not(None)
    op.get_bind().execute(_RUNS.update().where(known).values(clean=_RUNS.c.left != "ended"))
    with op.batch_alter_table("hai_runs", recreate="never") as runs:
        runs.drop_column("left")
    with op.batch_alter_table("hai_specs", recreate="never") as specs:
        specs.drop_column("watch")
    # No older version knows the profile.
    op.get_bind().execute(sa.text("UPDATE hai_tasks SET profile = 'sigterm' WHERE profile = 'auto'"))
    with op.batch_alter_table("hai_tasks", recreate="never") as tasks:
        tasks.drop_column("unsaved")
        tasks.drop_column("signal")


def _text(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return the value as it is stored, as text, because PostgreSQL's driver would parse it."""
    return sa.cast(column, sa.Text)


def _since(notice: str, checkpoint: str) -> bool:
    """Whether the checkpoint was made after the notice; False if one of them cannot be read."""
    try:
        return bool(json.loads(checkpoint)["at"] >= json.loads(notice)["at"])
    except (ValueError, TypeError, KeyError):
        return False
