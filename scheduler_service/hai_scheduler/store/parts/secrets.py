"""Secrets of users, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import delete, select, update

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.secret_refs import SecretFacts
from hai_scheduler.store.codec import to_instant
from hai_scheduler.store.rows import SECRET
from hai_scheduler.store.secret_tables import SECRETS
from hai_scheduler.store.small_tables import StoredPart

_FACTS = select(*(column for column in SECRETS.c if column is not SECRETS.c.sealed))


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A secret with its sealed value."""

    facts: SecretFacts
    sealed: bytes = field(repr=False)


class StoredSecrets(StoredPart):
    """The secrets, by user and name. Values come and go sealed; nothing of them is cached."""

    async def of_user(self, user: str) -> Sequence[SecretFacts]:
        """What is known of the secrets of a user, sorted by name."""
        rows = await self._sql.ask(_FACTS.where(SECRETS.c.user_name == user))
        return sorted((SECRET.of(row) for row in rows), key=lambda one: one.name)

    async def sealed(self, user: str, names: Collection[str]) -> Mapping[str, SealedSecret]:
        """Those of the named secrets that the user has, by name."""
        wanted = select(SECRETS).where(SECRETS.c.user_name == user, SECRETS.c.name.in_(sorted(set(names))))
        rows = await self._sql.ask(wanted)
        return {row.name: SealedSecret(SECRET.of(row), row.sealed) for row in rows}

    async def page(self, after: tuple[str, str], limit: int) -> Sequence[SealedSecret]:
        """At most `limit` secrets of all users, in the order of the database, after that of a user and a name."""
        user, name = after
        later = (SECRETS.c.user_name > user) | ((SECRETS.c.user_name == user) & (SECRETS.c.name > name))
        ordered = select(SECRETS).where(later).order_by(SECRETS.c.user_name, SECRETS.c.name)
        return [SealedSecret(SECRET.of(row), row.sealed) for row in await self._sql.ask(ordered.limit(limit))]

    async def put(self, facts: SecretFacts, sealed: bytes) -> None:
        """Write a secret with its sealed value."""
        self._sql.put(SECRETS, SECRET.values(facts, sealed=sealed))

    async def note_use(self, user: str, names: Collection[str], at: datetime, task_id: TaskId) -> None:
        """Write that a run of the task has got those secrets of the user."""
        used = update(SECRETS).where(SECRETS.c.user_name == user, SECRETS.c.name.in_(sorted(set(names))))
        await self._sql.change(used.values(used_at=to_instant(at), used_by=task_id))

    async def remove(self, user: str, name: str | None = None) -> int:
        """Delete a secret of the user; None: all of them. Returns how many there were."""
        gone = delete(SECRETS).where(SECRETS.c.user_name == user)
        if name is not None:
            gone = gone.where(SECRETS.c.name == name)
        return (await self._sql.change(gone)).rowcount
