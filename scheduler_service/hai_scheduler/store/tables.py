"""The tables of the database. A change here needs a migration: a test compares both.

Every name begins with hai and an underscore, because the Hub may use the same database.

Times are integers, microseconds since 1970 in UTC, and lengths of time are microseconds: every database returns them
exactly, compares and sorts them as numbers, and no time zones are needed, which SQLite does not have.

Values that are only read and written as a whole (ranks, a notice, a checkpoint, variables) are JSON, stored as text.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

#: SQLite numbers rows by itself only in a column of exactly this type.
Id = BigInteger().with_variant(Integer, "sqlite")
Instant = BigInteger
Span = BigInteger


def _value(name: str) -> Column[object]:
    return Column(name, JSON(none_as_null=True))


TASKS = Table(
    "hai_tasks",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("group_name", Text, nullable=False),
    # NULL is AUTO.
    Column("priority", SmallInteger),
    Column("nodes", Integer, nullable=False),
    Column("submitted_at", Instant, nullable=False),
    Column("waiting_since", Instant, nullable=False),
    Column("profile", Text, nullable=False),
    Column("grace", Span, nullable=False),
    Column("time_limit", Span),
    Column("state", Text, nullable=False),
    # Whether the state is one of ended tasks, for the indexes.
    Column("ended", Boolean, nullable=False),
    Column("held", Boolean, nullable=False),
    Column("custom_rank", Double),
    # Number of the latest run; NULL while it has never run.
    Column("run_number", Integer),
    Column("served", Span, nullable=False),
    Column("suspensions", Integer, nullable=False),
    _value("avoid"),
    _value("promise"),
    Column("failed_starts", Integer, nullable=False),
    _value("checkpoint"),
    Column("job_state", Text),
    Column("reason", Text),
    Column("ended_at", Instant),
    Column("version", BigInteger, nullable=False),
    # When this version was written, by the clock of the process that wrote it; see `known.py`.
    Column("saved_at", Instant, nullable=False),
    Column("idempotency_key", Text),
    # NULL is whole nodes.
    Column("gpus", Integer),
    _value("retry"),
    Column("retries", Integer, nullable=False, server_default="0"),
    Column("not_before", Instant),
    _value("rotations"),
    Column("leaving_took", Span),
    Column("starting_took", Span),
    # Grows with each write of any task: changes since a number are found by its index alone.
    Column("change", BigInteger, nullable=False, server_default="0"),
    # Bytes of the submission, for the limit on what a user may store.
    Column("size", BigInteger, nullable=False, server_default="0"),
    # NULL is the signal of the profile.
    _value("signal"),
    # Interruptions in a row without evidence of a checkpoint.
    Column("unsaved", Integer, nullable=False, server_default="0"),
    # For a user's latest task of a name, and for the number of a user's tasks.
    Index("ix_hai_tasks_by_name", "user_name", "ended", "name", "id"),
    Index("ix_hai_tasks_of_user", "user_name", "id"),
    Index("ix_hai_tasks_unfinished", "ended", "id"),
    Index("ix_hai_tasks_ended_at", "ended", "ended_at", "id"),
    Index("ix_hai_tasks_change", "change"),
    UniqueConstraint("user_name", "idempotency_key", name="uq_hai_tasks_idempotency_key"),
    # An id is never given twice, not even that of a deleted task: folders and events refer to it.
    sqlite_autoincrement=True,
)

SPECS = Table(
    "hai_specs",
    METADATA,
    Column("task_id", Id, ForeignKey("hai_tasks.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("command", JSON, nullable=False),
    Column("cwd", Text, nullable=False),
    Column("env", JSON, nullable=False),
    Column("checkpoint_dir", Text),
    Column("tags", JSON, nullable=False),
    # NULL is the platform's own.
    Column("environment", Text),
    # NULL for tasks of versions that did not write it.
    _value("watch"),
    # A number, or "gpu"; NULL: the command runs once on each node.
    _value("ranks_per_node"),
    # The environment of haienv, with its generation; NULL: none.
    _value("haienv"),
    # The snapshot of the code; NULL: none.
    _value("snapshot"),
    # The image with its digest; NULL: the environment's name counts.
    Column("image", Text),
    # Fields without a column of their own; NULL for tasks of versions that had none.
    _value("data"),
)

RUNS = Table(
    "hai_runs",
    METADATA,
    Column("task_id", Id, ForeignKey("hai_tasks.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("run_id", Text, nullable=False),
    Column("ranks", JSON, nullable=False),
    Column("priority", SmallInteger, nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("running_at", Instant),
    Column("ended_at", Instant),
    _value("notice"),
    Column("killed_at", Instant),
    Column("done", Boolean, nullable=False),
    _value("checkpoint"),
    Column("reason", Text),
    # How a run that was told to leave has left.
    Column("left", Text),
    Column("lost", Span),
    _value("failed_ranks"),
    # NULL for runs of versions that did not write it.
    Column("origin", Text),
    # The environment of haienv that the run was started with; NULL: none.
    _value("haienv"),
    # What its ranks used; NULL: it has not ended, or nothing was measured.
    _value("summary"),
)

#: The newest progress of each task that has reported some (`core.model.progress`).
PROGRESS = Table(
    "hai_progress",
    METADATA,
    Column("task_id", Id, ForeignKey("hai_tasks.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("run_number", Integer, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("total", BigInteger),
    Column("at", Instant, nullable=False),
    Column("begin_step", BigInteger, nullable=False),
    Column("begin_at", Instant, nullable=False),
    Column("pace_s", Double),
)

EVENTS = Table(
    "hai_events",
    METADATA,
    Column("seq", Id, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("kind", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("user_name", Text),
    # No foreign key: events outlive their task.
    Column("task_id", BigInteger),
    Column("data", JSON, nullable=False),
    Index("ix_hai_events_of_user", "user_name", "seq"),
    Index("ix_hai_events_of_task", "task_id", "seq"),
    sqlite_autoincrement=True,
)

QUOTAS = Table(
    "hai_quotas",
    METADATA,
    Column("subject", Text, primary_key=True),
    Column("group_name", Text, primary_key=True),
    Column("priority", SmallInteger, primary_key=True, autoincrement=False),
    # NULL is no limit.
    Column("node_limit", Integer),
    Column("ceiling", Integer),
    Column("expires_at", Instant),
)

USES = Table(
    "hai_uses",
    METADATA,
    Column("user_name", Text, primary_key=True),
    Column("group_name", Text, primary_key=True),
    Column("node_seconds", Double, nullable=False),
    Column("at", Instant, nullable=False),
)

STRIKES = Table(
    "hai_strikes",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("node", Text, nullable=False),
    # No foreign key: a strike counts though its task was deleted.
    Column("task_id", BigInteger, nullable=False),
    Column("at", Instant, nullable=False),
)

USERS = Table(
    "hai_users",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("groups", JSON, nullable=False),
)

#: Who the processes of a user are, by what the user's latest login told.
IDENTITIES = Table(
    "hai_identities",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("uid", BigInteger, nullable=False),
    Column("groups", JSON, nullable=False),
    Column("home", Text, nullable=False),
    Column("shell", Text, nullable=False),
)

MOUNT_RULES = Table(
    "hai_mount_rules",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("subject", Text, nullable=False),
    Column("action", Text, nullable=False),
    # NULL where the rule removes.
    Column("kind", Text),
    Column("source", Text, nullable=False),
    Column("mount_path", Text, nullable=False),
    Column("read_only", Boolean, nullable=False),
    Column("priority", Integer, nullable=False),
    # NULL is all of them.
    Column("node_group", Text),
    Column("description", Text, nullable=False),
)

FABRICS = Table(
    "hai_fabrics",
    METADATA,
    Column("group_name", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("data", JSON, nullable=False),
)

ENVIRONMENTS = Table(
    "hai_environments",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("image", Text),
    Column("python", Text),
    Column("variables", JSON, nullable=False),
    Column("subjects", JSON, nullable=False),
    Column("description", Text, nullable=False),
    Column("is_default", Boolean, nullable=False),
    # Of the image; NULL is not known.
    Column("machine", Text),
    Column("glibc", Text),
)

FOUND_MACHINES = Table(
    "hai_found_machines",
    METADATA,
    # The digest of an image, or its name.
    Column("image", Text, primary_key=True),
    Column("machine", Text, nullable=False),
    Column("glibc", Text, nullable=False),
    Column("task_id", BigInteger, nullable=False),
    Column("at", Instant, nullable=False),
)

NODE_MARKS = Table(
    "hai_node_marks",
    METADATA,
    Column("node", Text, primary_key=True),
    Column("mark", Text, nullable=False),
)

SETTINGS = Table(
    "hai_settings",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

#: At most one row. It stays when no loop holds the lease, so that tokens only grow.
LEASE = Table(
    "hai_lease",
    METADATA,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("holder", Text),
    Column("token", BigInteger, nullable=False),
    Column("expires_at", Instant, nullable=False),
)

#: The identity of this database, and how far it has come: one row, created with the tables (decision 0016).
DATABASE = Table(
    "hai_database",
    METADATA,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    # Number of starts and ends of runs that were ever written, and the greatest number of a run.
    Column("steps", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),
    # Tasks below this id may have had runs, up to this number, that the database has lost.
    Column("first_task", BigInteger, nullable=False),
    Column("above", Integer, nullable=False),
)

#: Logs that ranks have sent, in pieces. No foreign key: they are deleted through the cluster, like other logs.
LOG_PIECES = Table(
    "hai_log_pieces",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("rank", Integer, primary_key=True, autoincrement=False),
    # Bytes since the first line.
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("next", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

#: Series of metrics, in packed pieces (`core.metrics.packing`). No foreign key: they are deleted as logs are.
SERIES = Table(
    "hai_series",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("rank", Integer, nullable=False),
    # The length of the spans of its points, seconds.
    Column("step", Integer, nullable=False),
    # The end of the last point, Unix time in seconds.
    Column("until", BigInteger, nullable=False),
    # Whether it holds all points of a chunk of time that is over.
    Column("packed", Boolean, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("ix_hai_series_of_rank", "run_id", "rank", "step", "until"),
    Index("ix_hai_series_to_pack", "step", "packed", "until"),
)

#: When users last used the service. Not a column of the users: that table is cached, and visits change all the time.
VISITS = Table(
    "hai_visits",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("seen_at", Instant, nullable=False),
    Column("admin_at", Instant),
)

ARCHIVED_USERS = Table(
    "hai_archived_users",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("by_name", Text, nullable=False),
    Column("note", Text, nullable=False),
)

#: Who changed what.
AUDIT = Table(
    "hai_audit",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    _value("before"),
    _value("after"),
    Column("address", Text),
    Index("ix_hai_audit_at", "at"),
    Index("ix_hai_audit_of_actor", "actor", "id"),
    Index("ix_hai_audit_of_subject", "subject", "id"),
    # A number is never given twice.
    sqlite_autoincrement=True,
)

#: Recordings of what tasks do; `data` is all that is only read as a whole (`store.rows`).
RECORDINGS = Table(
    "hai_recordings",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("task_id", Id, ForeignKey("hai_tasks.id", ondelete="CASCADE"), nullable=False),
    Column("run_id", Text, nullable=False),
    Column("user_name", Text, nullable=False),
    # Compressed bytes of its traces.
    Column("size", BigInteger, nullable=False),
    Column("data", JSON, nullable=False),
    Index("ix_hai_recordings_of_task", "task_id", "id"),
    Index("ix_hai_recordings_of_run", "run_id", "id"),
    Index("ix_hai_recordings_of_user", "user_name", "id"),
    # A number is never given twice: ranks remember the greatest that they know.
    sqlite_autoincrement=True,
)

#: The traces of recordings, in pieces as they came.
TRACE_PIECES = Table(
    "hai_trace_pieces",
    METADATA,
    Column("recording", Id, ForeignKey("hai_recordings.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("rank", Integer, primary_key=True, autoincrement=False),
    Column("trace", Integer, primary_key=True, autoincrement=False),
    # Bytes since the beginning of the trace.
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("next", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
)
