"""How far each database has come, in a file beside the runs (decision 0016)."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from hai_client.whole_files import write_whole
from hai_scheduler.adapters.shared.origins import check_mark
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.ports.errors import Temporary

_SCHEMA: Final = 1
_NUMBERS: Final = tuple(field.name for field in fields(Mark) if field.name != "database")


class Marks:
    """The file `<runs>/.database.json`. What `put` has written survives a power cut."""

    def __init__(self, root: Path) -> None:
        self.path = root / ".database.json"

    def all(self) -> list[Mark]:
        """Return the marks of all databases. Raises OSError, and Temporary for a file that cannot be understood."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return []
        try:
            data = json.loads(text)
            if data["schema"] != _SCHEMA:
                raise ValueError(f"its schema is {data['schema']!r}, not {_SCHEMA}")
            return [_mark_of(name, row) for name, row in data["databases"].items()]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # Without the marks an id might be given twice.
            raise Temporary(
                f"{self.path} cannot be understood ({error}), so it is not known which ids have been given: put "
                "its backup in place, or move it away if no task was ever run by another database"
            ) from None

    def put(self, mark: Mark) -> None:
        """Write a mark in place of the last one of its database. Raises Superseded, OSError and Temporary."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._one_at_a_time():
            known = {kept.database: kept for kept in self.all()}
            check_mark(known.get(mark.database), mark)
            known[mark.database] = mark
            rows = {name: {field: asdict(kept)[field] for field in _NUMBERS} for name, kept in known.items()}
            write_whole(self.path, json.dumps({"schema": _SCHEMA, "databases": rows}, indent=1), on_disk=True)

    @contextlib.contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Hold the lock of the file: replicas on one machine share the folder."""
        fd = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def _mark_of(name: str, row: dict[str, Any]) -> Mark:
    return Mark(database=name, **{field: int(row[field]) for field in _NUMBERS})
