"""How often a command runs on each node has a column of its own.

Older versions kept it among the task's variables, as `HAI_RANKS_PER_NODE`, a name that no task may set.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_NAME = "HAI_RANKS_PER_NODE"
_SPECS = sa.table(
    "hai_specs",
    sa.column("task_id", sa.BigInteger),
    sa.column("env", sa.JSON),
    sa.column("ranks_per_node", sa.JSON(none_as_null=True)),
)
_C = _SPECS.c


def upgrade() -> None:
    with op.batch_alter_table("hai_specs", recreate="never") as specs:
        specs.add_column(sa.Column("ranks_per_node", sa.JSON(none_as_null=True)))
    named = sa.cast(_C.env, sa.Text).contains(f'"{_NAME}"', autoescape=True)
    rows = op.get_bind().execute(sa.select(_C.task_id, _C.env).where(named)).all()
    # The text may also be in the value of another variable.
    _write([(task, env, _parsed(env.pop(_NAME))) for task, env in rows if _NAME in env])


def downgrade() -> None:
    rows = op.get_bind().execute(sa.select(_C.task_id, _C.env, _C.ranks_per_node).where(_C.ranks_per_node.is_not(None)))
    _write([(task, {**env, _NAME: str(each)}, None) for task, env, each in rows.all()])
    with op.batch_alter_table("hai_specs", recreate="never") as specs:
        specs.drop_column("ranks_per_node")


def _parsed(value: str) -> int | str:
    return "gpu" if value == "gpu" else int(value)


def _write(rows: list[tuple[int, dict[str, str], Any]]) -> None:
    if rows:
        op.get_bind().execute(
            _SPECS.update()
            .where(_C.task_id == sa.bindparam("_task"))
            .values(env=sa.bindparam("_env"), ranks_per_node=sa.bindparam("_each")),
            [{"_task": task, "_env": env, "_each": each} for task, env, each in rows],
        )
