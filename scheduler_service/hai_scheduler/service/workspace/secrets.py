"""The secrets of users: set, listed and removed by their users, and sealed again after a change of keys by admins.

A value comes in and goes to the vault at once. No answer, event, message or entry of the audit has it, or a digest of
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.limits import MAX_SECRET_BYTES, MAX_SECRETS, MAX_TASK_SECRET_BYTES, MAX_TASK_SECRETS
from hai_scheduler.core.model.secret_refs import SecretFacts, SecretRef, check_secret_name
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.ports.vault import CannotOpen
from hai_scheduler.service.shared.archived_names import archived_sentence
from hai_scheduler.service.shared.auditing import audit
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.errors import Conflict, Forbidden, Invalid, NotFound
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.store.transaction import Tx

#: Secrets that are sealed again in one transaction, so that other writers do not wait long.
_TOGETHER: Final = 50


@dataclass(slots=True)
class Resealed:
    """What became of all secrets after a change of keys."""

    #: How many were sealed again with the newest key, and how many were sealed with it already.
    resealed: int = 0
    already: int = 0
    #: Those that no key opens, as `USER/NAME`.
    lost: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Secrets(UseCase):
    """The use cases."""

    async def show_all(self, caller: Caller) -> Sequence[SecretFacts]:
        """The caller's secrets, without their values, sorted by name."""
        async with self.store.read() as tx:
            return await tx.secrets.of_user(caller.name)

    async def put(self, caller: Caller, name: str, value: bytes) -> SecretFacts:
        """Set a secret of the caller; runs that start from now on get this value.

        Raises:
            Forbidden: The caller is no user, or archived.
            Invalid: The name is none, or the value is empty or too large.
            Conflict: The caller has as many secrets as a user may have.
        """
        if caller.kind != "user":
            raise Forbidden("Secrets are of users: set them with the token of a user, not of a service.")
        check_named(name)
        if not value:
            raise Invalid("value", None, f"is empty: give the value of {name}, or remove the secret")
        if len(value) > MAX_SECRET_BYTES:
            most = f"{len(value)} bytes, and {MAX_SECRET_BYTES} is the most"
            raise Invalid("value", None, f"has {most}: keep it in a file that tasks can read")
        async with self.store.write() as tx:
            if caller.name in await tx.users.archived():
                raise Forbidden(archived_sentence(caller.name))
            known = {one.name: one for one in await tx.secrets.of_user(caller.name)}
            before = known.get(name)
            if before is None and len(known) >= MAX_SECRETS:
                raise Conflict(
                    f"You have {MAX_SECRETS} secrets, which is the most: `hai secret remove NAME` removes one."
                )
            facts = SecretFacts(
                user=caller.name,
                name=name,
                version=1 if before is None else before.version + 1,
                size=len(value),
                text=is_text(value),
                set_at=self.clock.now(),
                used_at=None if before is None else before.used_at,
                used_by=None if before is None else before.used_by,
            )
            sealed = self.world.vault.seal(value, user=facts.user, name=name, version=facts.version)
            await tx.secrets.put(facts, sealed)
            await self._tell(tx, caller, EventKind.SECRET_SET, name, version=facts.version)
        return facts

    async def remove(self, caller: Caller, name: str) -> None:
        """Remove a secret of the caller. Raises Invalid and NotFound."""
        check_named(name)
        async with self.store.write() as tx:
            if not await tx.secrets.remove(caller.name, name):
                raise NotFound(f"You have no secret {name!r}: `hai secret list` shows those that you have.")
            await self._tell(tx, caller, EventKind.SECRET_REMOVED, name)

    async def reseal(self, caller: Caller) -> Resealed:
        """Seal all secrets with the newest key that another one has sealed. Repeating it is harmless.

        Some are sealed at a time: when the service dies meanwhile, each secret has its old or its new seal.

        Raises Forbidden.
        """
        admins_only(caller)
        done, last = Resealed(), ("", "")
        while True:
            async with self.store.write() as tx:
                some = await tx.secrets.page(last, _TOGETHER)
                for one in some:
                    await self._reseal(tx, one.facts, one.sealed, done)
                if not some:
                    after = {"resealed": done.resealed, "already": done.already, "lost": len(done.lost)}
                    now = self.clock.now()
                    await audit(tx, caller, AdminAction.SECRETS_RESEALED, "secrets:all", at=now, after=after)
                    return done
                last = some[-1].facts.user, some[-1].facts.name

    async def _reseal(self, tx: Tx, facts: SecretFacts, sealed: bytes, done: Resealed) -> None:
        vault = self.world.vault
        if vault.by_newest(sealed):
            done.already += 1
            return
        try:
            value = vault.open(sealed, user=facts.user, name=facts.name, version=facts.version)
        except CannotOpen:
            done.lost.append(f"{facts.user}/{facts.name}")
            return
        again = vault.seal(value, user=facts.user, name=facts.name, version=facts.version)
        await tx.secrets.put(facts, again)
        done.resealed += 1

    async def _tell(self, tx: Tx, caller: Caller, kind: EventKind, name: str, **data: int) -> None:
        now, about = self.clock.now(), {"secret": name, **data}
        await tx.events.add(HistoryEvent(at=now, kind=kind, actor=caller.name, user=caller.name, data=about))
        subject = f"secret:{caller.name}/{name}"
        await audit(tx, caller, AdminAction(kind.value), subject, at=now, after=data or None)


def is_text(value: bytes) -> bool:
    """Return whether a value can be that of a variable."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in value


def check_named(name: str) -> None:
    """Raise Invalid for a name that no secret can have."""
    try:
        check_secret_name(name)
    except ValueError as error:
        raise Invalid("secret", name, str(error)) from None


def check_places(refs: Sequence[SecretRef], env: Iterable[str]) -> None:
    """Raise Invalid if a task has too many secrets, or two things at one place. `env` are its other variables."""
    if len(refs) > MAX_TASK_SECRETS:
        raise Invalid("secrets", len(refs), f"are more than {MAX_TASK_SECRETS}, the most of a task: put some into one")
    taken = set(env)
    for ref in refs:
        if ref.variable is not None and ref.variable in taken:
            raise Invalid("secrets", str(ref), f"the variable {ref.variable} is given twice: leave one of both out")
        if ref.path is not None and ref.path in taken:
            raise Invalid("secrets", str(ref), f"the file {ref.path} is given twice: leave one of both out")
        taken.add(ref.place)


async def check_there(tx: Tx, user: str, refs: Sequence[SecretRef]) -> None:
    """Raise Invalid if the user lacks a secret that a task names, or if the task could not get them so."""
    if not refs:
        return
    fault = fault_of(refs, {one.name: one for one in await tx.secrets.of_user(user)})
    if fault is not None:
        raise Invalid("secrets", str(fault[0]), fault[1])


def fault_of(refs: Sequence[SecretRef], known: dict[str, SecretFacts]) -> tuple[SecretRef, str] | None:
    """Return the first of these secrets that a run cannot get, and why, with a remedy; None: it gets all of them."""
    size = 0
    for ref in refs:
        facts = known.get(ref.name)
        if facts is None:
            behind = "" if ref.place == ref.name else " (behind = stands the name of a secret, never its value)"
            return ref, f"there is no secret {ref.name!r}: set it by `hai secret set {ref.name}`{behind}"
        if ref.variable is not None and not facts.text:
            return ref, f"the secret {ref.name!r} is no text, as a variable must be: use it as a file, PATH={ref.name}"
        size += facts.size
        if size > MAX_TASK_SECRET_BYTES:
            most = f"{size} bytes of secrets, and {MAX_TASK_SECRET_BYTES} is the most"
            return ref, f"with {ref.name!r} the task has {most}: give it fewer or shorter ones"
    return None
