"""Times every statement of an engine."""

from __future__ import annotations

import time
from typing import Any, Final

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.ports.timings import Timings

#: The statements that are told apart by their first word.
_OPS: Final = frozenset({"select", "insert", "update", "delete"})


def time_statements(engine: AsyncEngine, timings: Timings) -> None:
    """Tell `timings` how long each statement takes, from sending it until its answer begins; failed ones as well."""

    def begins(_connection: Any, _cursor: Any, _statement: str, _parameters: Any, context: Any, _many: bool) -> None:
        context.hai_began = time.perf_counter()

    def ends(_connection: Any, _cursor: Any, statement: str, _parameters: Any, context: Any, _many: bool) -> None:
        timings.database(op_of(statement), time.perf_counter() - context.hai_began)

    def fails(context: Any) -> None:
        began = getattr(context.execution_context, "hai_began", None)
        if began is not None:
            timings.database(op_of(context.statement or ""), time.perf_counter() - began)

    event.listen(engine.sync_engine, "before_cursor_execute", begins)
    event.listen(engine.sync_engine, "after_cursor_execute", ends)
    event.listen(engine.sync_engine, "handle_error", fails)


def op_of(statement: str) -> str:
    """Return the word under which a statement is counted."""
    word = statement.lstrip()[:6].lower()
    return word if word in _OPS else "other"
