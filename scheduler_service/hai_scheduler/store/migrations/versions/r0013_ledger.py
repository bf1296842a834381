"""The ledger: what runs took, which outlives their tasks.

The runs that are in the store are brought in by the service, a little at a time and before it deletes any task: what a
row is made of is decided by its core. The setting says after which task it goes on.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MEASURES = (
    *("starts", "wait_us", "ends", "interruptions", "broken", "failures", "short"),
    *("starting_us", "useful_us", "saving_us", "lost_us", "failed_us"),
    *("gpu_starting_us", "gpu_useful_us", "gpu_saving_us", "gpu_lost_us", "gpu_failed_us", "gpu_idle_us", "energy_j"),
)
SETTINGS = sa.table("hai_settings", sa.column("name", sa.Text), sa.column("value", sa.Text))
WORDS = "~words"


def upgrade() -> None:
    op.create_table(
        "hai_ledger_keys",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("groups", sa.JSON(), nullable=False),
        sa.Column("group_name", sa.Text(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hai_ledger_keys"),
    )
    op.create_index("ix_hai_ledger_keys_of_user", "hai_ledger_keys", ["user_name"])
    op.create_table(
        "hai_ledger",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("key_id", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("nodes", "gpus", "node_gpus")),
        *(
            sa.Column(name, sa.BigInteger(), nullable=False)
            for name in ("wait", "started_at", "ended_at", "starting", "useful", "saving", "lost", "idle")
        ),
        sa.Column("energy_j", sa.BigInteger()),
        sa.Column("outcome", sa.Text()),
        sa.Column("reason", sa.Text()),
        sa.Column("last", sa.Boolean(), nullable=False),
        sa.Column("short", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "part", name="pk_hai_ledger"),
    )
    op.create_index("ix_hai_ledger_started_at", "hai_ledger", ["started_at", "run_id"])
    op.create_table(
        "hai_ledger_sums",
        sa.Column("period", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("since", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("key_id", sa.BigInteger(), autoincrement=False, nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in MEASURES),
        sa.PrimaryKeyConstraint("period", "since", "key_id", name="pk_hai_ledger_sums"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "hai_ledger_waits",
        sa.Column("period", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("since", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("key_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("bucket", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("runs", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("period", "since", "key_id", "bucket", name="pk_hai_ledger_waits"),
        sqlite_with_rowid=False,
    )
    bind = op.get_bind()
    if bind.execute(sa.text("SELECT 1 FROM hai_runs LIMIT 1")).first() is not None:
        bind.execute(SETTINGS.insert().values(name="ledger_import", value="0"))
        # A process that knows the settings must read them again.
        bind.execute(SETTINGS.delete().where(SETTINGS.c.name == WORDS))


def downgrade() -> None:
    for table in ("hai_ledger_waits", "hai_ledger_sums", "hai_ledger", "hai_ledger_keys"):
        op.drop_table(table)
    op.get_bind().execute(SETTINGS.delete().where(SETTINGS.c.name.in_(["ledger_import", "ledger_counted", WORDS])))
