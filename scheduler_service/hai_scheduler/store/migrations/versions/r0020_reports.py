"""Sums of all users together, finer histograms of waits, slowdowns, and development containers in the ledger.

The sums of all users together are added up from those that are there. The histograms are made again from the rows,
as they get another form; slowdowns of tasks that ended earlier are not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from math import log2
from struct import pack
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0018"
branch_labels = None
depends_on = None

EARLIER = (
    *("starts", "wait_us", "ends", "interruptions", "broken", "failures", "short"),
    *("starting_us", "useful_us", "saving_us", "lost_us", "failed_us"),
    *("gpu_starting_us", "gpu_useful_us", "gpu_saving_us", "gpu_lost_us", "gpu_failed_us", "gpu_idle_us", "energy_j"),
)
LATER = ("core_us", "tasks", "slowdown_ppm")
KEYS = sa.table(
    "hai_ledger_keys",
    sa.column("id", sa.BigInteger),
    sa.column("user_name", sa.Text),
    sa.column("groups", sa.JSON),
    sa.column("group_name", sa.Text),
    sa.column("priority", sa.SmallInteger),
    sa.column("kind", sa.Text),
)
ROWS = sa.table(
    "hai_ledger",
    sa.column("run_id", sa.Text),
    *(sa.column(name, sa.BigInteger) for name in ("part", "key_id", "started_at", "wait")),
)
SUMS = sa.table(
    "hai_ledger_sums",
    *(sa.column(name, sa.BigInteger) for name in ("period", "since", "key_id", *EARLIER)),
)
WHOLE = sa.table("hai_whole", sa.column("id", sa.BigInteger), sa.column("all_id", sa.BigInteger))
HISTOGRAMS = sa.table(
    "hai_ledger_histograms",
    *(sa.column(name, sa.BigInteger) for name in ("period", "since", "key_id")),
    sa.column("waits", sa.LargeBinary),
)
WAITS = sa.table(
    "hai_ledger_waits",
    *(sa.column(name, sa.BigInteger) for name in ("period", "since", "key_id", "bucket", "runs")),
)
#: Rows that are read, or written, at once.
PAGE = 5000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
US = timedelta(microseconds=1)

#: Period, begin and key.
Place = tuple[int, int, int]


def upgrade() -> None:
    with op.batch_alter_table("hai_ledger", recreate="never") as rows:
        rows.add_column(sa.Column("millicores", sa.Integer(), nullable=False, server_default="0"))
        rows.add_column(sa.Column("slowdown", sa.BigInteger()))
    with op.batch_alter_table("hai_ledger_sums", recreate="never") as sums:
        for name in LATER:
            sums.add_column(sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    op.create_table(
        "hai_ledger_histograms",
        sa.Column("period", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("since", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("key_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("waits", sa.LargeBinary()),
        sa.Column("slowdowns", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("period", "since", "key_id", name="pk_hai_ledger_histograms"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "hai_containers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("groups", sa.JSON(), nullable=False),
        sa.Column("group_name", sa.Text(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("millicores", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hai_containers"),
    )
    bind = op.get_bind()
    same_groups, whole = _keys_of_all(bind)
    _sum_up(bind, same_groups, 3)
    _sum_up(bind, whole, 6)
    for found in _waits(bind, _fine):
        more: Counter[tuple[Place, int]] = Counter()
        for ((period, since, key), bucket), runs in found.items():
            more[(period, since, key), bucket] += runs
            more[(period + 3, since, same_groups[key]), bucket] += runs
            more[(period + 6, since, whole[key]), bucket] += runs
        packed: dict[Place, bytes] = {}
        for (place, bucket), runs in sorted(more.items()):
            packed[place] = packed.get(place, b"") + pack("<HI", bucket, runs)
        values = [
            {"period": period, "since": since, "key_id": key, "waits": data}
            for (period, since, key), data in packed.items()
        ]
        _insert(bind, HISTOGRAMS, values)
    op.drop_table("hai_ledger_waits")


def downgrade() -> None:
    bind = op.get_bind()
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
    # The earlier code knows neither development containers nor sums of all users together.
    unknown = sa.or_(KEYS.c.kind == "development", KEYS.c.user_name == "")
    for table in (ROWS, SUMS):
        bind.execute(table.delete().where(table.c.key_id.in_(sa.select(KEYS.c.id).where(unknown))))
    bind.execute(KEYS.delete().where(unknown))
    for found in _waits(bind, _coarse):
        values = [
            {"period": period, "since": since, "key_id": key, "bucket": bucket, "runs": runs}
            for ((period, since, key), bucket), runs in found.items()
        ]
        _insert(bind, WAITS, values)
    op.drop_table("hai_containers")
    op.drop_table("hai_ledger_histograms")
    with op.batch_alter_table("hai_ledger_sums", recreate="never") as sums:
        for name in LATER:
            sums.drop_column(name)
    with op.batch_alter_table("hai_ledger", recreate="never") as rows:
        rows.drop_column("slowdown")
        rows.drop_column("millicores")


def _keys_of_all(bind: sa.Connection) -> tuple[dict[int, int], dict[int, int]]:
    """Write the keys of all users together; returns theirs by the ids of those that are there.

    The first ones know the groups, the second ones do not.
    """
    found = bind.execute(sa.select(KEYS)).all()
    rest = {row.id: (row.group_name, row.priority, row.kind) for row in found}
    groups = {row.id: tuple(row.groups) for row in found}
    parts = {(groups[number], *rest[number]) for number in rest} | {((), *each) for each in rest.values()}
    values = [
        {"user_name": "", "groups": list(names), "group_name": name, "priority": priority, "kind": kind}
        for names, name, priority, kind in sorted(parts)
    ]
    if values:
        bind.execute(KEYS.insert(), values)
    written = bind.execute(sa.select(KEYS).where(KEYS.c.user_name == "")).all()
    ids = {(tuple(row.groups), row.group_name, row.priority, row.kind): row.id for row in written}
    return (
        {number: ids[groups[number], *rest[number]] for number in rest},
        {number: ids[(), *rest[number]] for number in rest},
    )


def _sum_up(bind: sa.Connection, whole: dict[int, int], later: int) -> None:
    """Add up the sums of users to those of all users together, whose periods have numbers that are so much greater."""
    if not whole:
        return
    bind.execute(sa.text("CREATE TEMPORARY TABLE hai_whole (id BIGINT PRIMARY KEY, all_id BIGINT)"))
    bind.execute(WHOLE.insert(), [{"id": number, "all_id": every} for number, every in whole.items()])
    place = (SUMS.c.period, SUMS.c.since, WHOLE.c.all_id)
    totals = [sa.cast(sa.func.sum(SUMS.c[name]), sa.BigInteger) for name in EARLIER]
    sums = sa.select(SUMS.c.period + later, *place[1:], *totals).join_from(SUMS, WHOLE, WHOLE.c.id == SUMS.c.key_id)
    sums = sums.where(SUMS.c.period < 3).group_by(*place)
    bind.execute(SUMS.insert().from_select(["period", "since", "key_id", *EARLIER], sums))
    bind.execute(sa.text("DROP TABLE hai_whole"))


def _waits(bind: sa.Connection, bucket_of: Callable[[float], int]) -> Iterator[Counter[tuple[Place, int]]]:
    """Yield how many runs waited how long, month by month: for hours, days and the month, each with its bucket."""
    found: Counter[tuple[Place, int]] = Counter()
    month, after = 0, (-(2**62), "")
    while True:
        place = sa.tuple_(ROWS.c.started_at, ROWS.c.run_id) > sa.tuple_(
            sa.literal(after[0], sa.BigInteger), sa.literal(after[1], sa.Text)
        )
        page = bind.execute(
            sa.select(ROWS).where(ROWS.c.part == 1, place).order_by(ROWS.c.started_at, ROWS.c.run_id).limit(PAGE)
        ).all()
        for row in page:
            hour = row.started_at - row.started_at % 3_600_000_000
            day = row.started_at - row.started_at % 86_400_000_000
            first = (EPOCH + day * US).replace(day=1)
            begin = (first - EPOCH) // US
            if begin != month and found:
                yield found
                found = Counter()
            month, bucket = begin, bucket_of(row.wait / 1e6)
            for period, since in enumerate((hour, day, begin)):
                found[(period, since, row.key_id), bucket] += 1
        if len(page) < PAGE:
            break
        after = page[-1].started_at, page[-1].run_id
    if found:
        yield found


def _fine(seconds: float) -> int:
    """The bucket of the histograms from this revision on."""
    return 0 if seconds < 1 else min(30 * 18, 1 + int(18 * log2(seconds)))


def _coarse(seconds: float) -> int:
    """The bucket of the histograms before this revision."""
    return 0 if seconds < 1 else min(30 * 4, 1 + int(4 * log2(seconds)))


def _insert(bind: sa.Connection, table: Any, values: list[dict[str, Any]]) -> None:
    for begin in range(0, len(values), PAGE):
        bind.execute(table.insert(), values[begin : begin + PAGE])
