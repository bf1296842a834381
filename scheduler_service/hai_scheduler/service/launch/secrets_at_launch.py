"""What a run gets of its user's secrets: the newest values, opened when it is launched and kept nowhere."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.secret_refs import SecretFacts
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.workspace.templates import Unresolvable
from hai_scheduler.ports.cluster import GivenSecret, LaunchOrder
from hai_scheduler.ports.secret import Secret
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.ports.vault import CannotOpen
from hai_scheduler.service.shared.changes import SCHEDULER
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.workspace.secrets import fault_of
from hai_scheduler.store.parts.secrets import SealedSecret


@dataclass(slots=True, eq=False)
class SecretsAtLaunch(UseCase):
    """Puts opened secrets into the orders of runs."""

    async def order_with(self, order: LaunchOrder, task: Task, run: Run, spec: TaskSpec) -> LaunchOrder:
        """Return the order with the secrets of its task. Raises Unresolvable, which says which one is not to be had."""
        if not spec.secrets:
            return order
        async with self.store.read() as tx:
            found = await tx.secrets.sealed(task.user, {ref.name for ref in spec.secrets})
        known = {name: one.facts for name, one in found.items()}
        if (fault := fault_of(spec.secrets, known)) is not None:
            raise Unresolvable(f"secrets: {fault[1]}")
        values = {name: self._opened(one) for name, one in found.items()}
        if not all(_noted(facts, task, run) for facts in known.values()):
            await self._note(task, run, known)
        return replace(order, secrets=tuple(GivenSecret(ref=ref, value=values[ref.name]) for ref in spec.secrets))

    def _opened(self, one: SealedSecret) -> Secret:
        facts = one.facts
        try:
            value = self.world.vault.open(one.sealed, user=facts.user, name=facts.name, version=facts.version)
        except CannotOpen as error:
            again = f"set it again by `hai secret set {facts.name}`"
            raise Unresolvable(f"secrets: {facts.name!r} cannot be opened, as {error}: {again}") from None
        return Secret(base64.b64encode(value).decode())

    async def _note(self, task: Task, run: Run, known: Mapping[str, SecretFacts]) -> None:
        """Write which run gets which version, once for a run."""
        now = self.clock.now()
        about = {"run": run.id, "secrets": {name: facts.version for name, facts in known.items()}}
        async with self.store.write() as tx:
            await tx.secrets.note_use(task.user, known, now, task.id)
            used = HistoryEvent(
                at=now, kind=EventKind.SECRETS_USED, actor=SCHEDULER, user=task.user, task_id=task.id, data=about
            )
            await tx.events.add(used)


def _noted(facts: SecretFacts, task: Task, run: Run) -> bool:
    return facts.used_by == task.id and facts.used_at is not None and facts.used_at >= run.started_at
