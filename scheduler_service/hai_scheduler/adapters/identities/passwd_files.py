"""Accounts by files as `getent` prints them, which are read again when they change."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hai_scheduler.adapters.identities.fixed import OneAccount
from hai_scheduler.adapters.identities.settings import IdentitySettings
from hai_scheduler.core.workspace.identity import Identity, doubled
from hai_scheduler.core.workspace.passwd import AccountTable
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.reading import in_reader

log = logging.getLogger(__name__)

#: Bytes of one file. A ConfigMap holds one MiB.
_LARGEST: Final = 64 * 1024 * 1024

#: Which content a file has: device, inode, size, and when it was changed.
_Mark = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Read:
    marks: tuple[_Mark | None, ...]
    table: AccountTable


class PasswdFiles(OneAccount):
    """The port Identities over two files. While they cannot be read, what was read last counts.

    Raises ValueError if there is no file of accounts to begin with.
    """

    def __init__(self, settings: IdentitySettings) -> None:
        super().__init__(settings.gid)
        if settings.passwd is None:
            raise ValueError("there is no file of accounts: name it, as `getent passwd` prints it")
        self._rules = settings.rules
        self._files: tuple[Path | None, ...] = (settings.passwd, settings.group)
        self._read: _Read | None = None

    async def of(self, user: str) -> Identity | None:
        """Return the account of the user's name. Raises NoIdentity, Temporary."""
        return self._rules.checked(user, (await self._table()).of(user))

    async def doubled(self) -> Sequence[tuple[int, Sequence[str]]]:
        """Return numbers that several names have, of those that users may have. Raises Temporary."""
        entries = (await self._table()).entries
        return doubled({name: one.uid for name, one in entries.items() if one.uid >= self._rules.least_uid})

    async def _table(self) -> AccountTable:
        return await in_reader(self._look)

    def _look(self) -> AccountTable:
        known = self._read
        try:
            marks = tuple(None if file is None else _mark(file) for file in self._files)
            if known is None or known.marks != marks:
                known = _Read(marks, AccountTable.parse(*(_text(file) for file in self._files)))
                self._read = known
        except (OSError, ValueError) as error:
            if known is None:
                raise Temporary(f"the files of accounts cannot be read: {error}") from None
            log.warning("the files of accounts cannot be read now, and what was read last counts: %s", error)
        return known.table


def _mark(file: Path) -> _Mark:
    there = file.stat()
    return there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns


def _text(file: Path | None) -> str:
    """Return the text of a file. Raises OSError, and ValueError: it is too large, or no text."""
    if file is None:
        return ""
    with file.open("rb") as opened:
        data = opened.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError(f"{file} is larger than {_LARGEST} bytes")
    return data.decode()
