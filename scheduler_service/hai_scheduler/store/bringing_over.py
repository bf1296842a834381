"""Brings a database of the last revision before the first state to it: the tables are equal, some values are not."""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy import JSON, Connection, LargeBinary, bindparam, column, func, null, select, table, text
from sqlalchemy.engine import URL

from hai_scheduler.store.former_chunks import FORMER, rewritten
from hai_scheduler.store.revision import FIRST, VERSION_TABLE, StateTooOld

# As they were at that revision: later migrations may change them.
_SETTINGS: Final = table("hai_settings", column("name"), column("value"))
_SERIES: Final = table("hai_series", column("id"), column("data", LargeBinary()))
_RUNS: Final = table(
    "hai_runs",
    *(column(name) for name in ("task_id", "number", "reason")),
    *(column(name, JSON()) for name in ("ranks", "failed_ranks")),
)
#: Chunks that are rewritten at once.
_PAGE: Final = 500


def bring_over(connection: Connection, url: URL) -> None:
    """Write what the first state stores in another way, and its revision. Raises StateTooOld."""
    settings = {row.name: row.value for row in connection.execute(select(_SETTINGS))}
    if "ledger_import" in settings:
        raise StateTooOld.without_ledger(url)
    if (policy := settings.get("policy")) is not None:
        renamed = _SETTINGS.update().where(_SETTINGS.c.name == "policy")
        connection.execute(renamed.values(value=_by_names_of_now(policy)))
    _name_failed_ranks(connection)
    _rewrite_chunks(connection)
    connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '{FIRST}'"))  # noqa: S608  # our own words


def _by_names_of_now(policy: str) -> str:
    """Return the stored policy numbers with the name of today for `worth`; a text that cannot be read as it is."""
    try:
        stored = json.loads(policy)
        for numbers in (stored["all"], *stored["groups"].values()):
            if "worth" in numbers:
                numbers.setdefault("min_run_per_switch", numbers.pop("worth"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return policy
    return json.dumps(stored, sort_keys=True)


def _name_failed_ranks(connection: Connection) -> None:
    """Write which ranks broke a run of the first version, which did not: all that ended with a status other than 0."""
    unnamed = select(_RUNS).where(_RUNS.c.failed_ranks.is_(null()), _RUNS.c.reason == "failed")
    for run in connection.execute(unnamed).all():
        this = _RUNS.update().where(_RUNS.c.task_id == run.task_id, _RUNS.c.number == run.number)
        failed: list[Any] = [rank["rank"] for rank in run.ranks if rank["exit_code"]]
        connection.execute(this.values(failed_ranks=failed))


def _rewrite_chunks(connection: Connection) -> None:
    """Write the chunks of series that have the former form in the form of now."""
    former = select(_SERIES).where(func.substr(_SERIES.c.data, 1, 1) == FORMER, _SERIES.c.id > bindparam("after"))
    page = former.order_by(_SERIES.c.id).limit(_PAGE)
    write = _SERIES.update().where(_SERIES.c.id == bindparam("_id"))
    last = {"after": 0}
    while some := connection.execute(page, last).all():
        connection.execute(write, [{"_id": row.id, "data": rewritten(row.data)} for row in some])
        last = {"after": some[-1].id}
