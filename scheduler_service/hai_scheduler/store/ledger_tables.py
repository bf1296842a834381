"""The tables of what use costs and of the ledger; see `tables`, whose other part this is."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Index, Integer, LargeBinary, SmallInteger, Table, Text

from hai_scheduler.core.ledger.sums import MEASURES
from hai_scheduler.store.tables import METADATA, Id, Instant, Span

#: What an hour of a node and of a GPU costs. Amounts are decimal texts, which no database rounds.
RATES = Table(
    "hai_rates",
    METADATA,
    # Empty: all node groups; -1: all priorities.
    Column("node_group", Text, primary_key=True),
    Column("priority", SmallInteger, primary_key=True, autoincrement=False),
    # A day of UTC: 2026-11-01.
    Column("valid_from", Text, primary_key=True),
    Column("per_node_hour", Text, nullable=False),
    Column("per_gpu_hour", Text, nullable=False),
    Column("currency", Text, nullable=False),
)

BUDGETS = Table(
    "hai_budgets",
    METADATA,
    Column("user_group", Text, primary_key=True),
    Column("measure", Text, nullable=False),
    Column("most", Text, nullable=False),
    Column("window_days", Integer, nullable=False),
    Column("currency", Text),
)

#: How much node time there was in each hour, microseconds.
CAPACITY = Table(
    "hai_capacity",
    METADATA,
    Column("hour", Instant, primary_key=True, autoincrement=False),
    Column("node_group", Text, primary_key=True),
    Column("node_us", BigInteger, nullable=False),
    Column("gpu_us", BigInteger, nullable=False),
    Column("down_us", BigInteger, nullable=False),
    Column("until", Instant, nullable=False),
)

#: What the rows and sums of the ledger are kept by. A user who is erased is renamed here, and nowhere else.
LEDGER_KEYS = Table(
    "hai_ledger_keys",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("user_name", Text, nullable=False),
    # Names, sorted.
    Column("groups", JSON, nullable=False),
    Column("group_name", Text, nullable=False),
    Column("priority", SmallInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Index("ix_hai_ledger_keys_of_user", "user_name"),
)

#: What each run took, by day. No foreign key to tasks or runs: the ledger outlives them.
LEDGER = Table(
    "hai_ledger",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("task_id", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),
    Column("key_id", BigInteger, nullable=False),
    Column("nodes", Integer, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("node_gpus", Integer, nullable=False),
    Column("millicores", Integer, nullable=False, server_default="0"),
    Column("wait", Span, nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("ended_at", Instant, nullable=False),
    Column("starting", Span, nullable=False),
    Column("useful", Span, nullable=False),
    Column("saving", Span, nullable=False),
    Column("lost", Span, nullable=False),
    Column("idle", Span, nullable=False),
    # NULL: not known.
    Column("energy_j", BigInteger),
    # NULL: the run goes on.
    Column("outcome", Text),
    Column("reason", Text),
    Column("last", Boolean, nullable=False),
    Column("short", Boolean, nullable=False),
    # In millionths. NULL: the task did not end by itself with this run, or the row is of an earlier version.
    Column("slowdown", BigInteger),
    Index("ix_hai_ledger_started_at", "started_at", "run_id"),
)

#: Sums that the first ledger did not have.
_LATER_MEASURES = ("core_us", "tasks", "slowdown_ppm")

#: Sums of the ledger's rows, by hour (period 0), day and month; for all users together by groups (periods 3, 4 and 5),
#: and without (6, 7 and 8). They can be made again at any time.
LEDGER_SUMS = Table(
    "hai_ledger_sums",
    METADATA,
    Column("period", SmallInteger, primary_key=True, autoincrement=False),
    Column("since", Instant, primary_key=True, autoincrement=False),
    Column("key_id", BigInteger, primary_key=True, autoincrement=False),
    *(
        Column(name, BigInteger, nullable=False, server_default="0" if name in _LATER_MEASURES else None)
        for name in MEASURES
    ),
    # Rows of a time lie side by side.
    sqlite_with_rowid=False,
)

#: Histograms of waits and slowdowns (`core.ledger.histograms`), packed; NULL: no counts. Those of one period lie side
#: by side.
LEDGER_HISTOGRAMS = Table(
    "hai_ledger_histograms",
    METADATA,
    Column("period", SmallInteger, primary_key=True, autoincrement=False),
    Column("since", Instant, primary_key=True, autoincrement=False),
    Column("key_id", BigInteger, primary_key=True, autoincrement=False),
    Column("waits", LargeBinary),
    Column("slowdowns", LargeBinary),
    sqlite_with_rowid=False,
)

#: Development containers that live, as far as the Hub has told. What they took is in the ledger.
CONTAINERS = Table(
    "hai_containers",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("user_name", Text, nullable=False),
    # The user's groups when it began: names, sorted.
    Column("groups", JSON, nullable=False),
    Column("group_name", Text, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("millicores", Integer, nullable=False),
    Column("started_at", Instant, nullable=False),
    # When the Hub has told of it last.
    Column("seen_at", Instant, nullable=False),
)
