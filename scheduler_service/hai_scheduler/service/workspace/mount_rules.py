"""Lists, writes and deletes mount rules for admins. Each change is in the audit trail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.workspace.mounts import MountRule, admitted
from hai_scheduler.core.workspace.templates import Wrong
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.shared.auditing import audit
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.errors import Invalid, NotFound
from hai_scheduler.service.shared.known_names import stranger
from hai_scheduler.service.shared.topics import FEED
from hai_scheduler.service.shared.versions import ANY, Expectation
from hai_scheduler.service.shared.world import UseCase


class MountRules(UseCase):
    """The use cases of mount rules."""

    async def show_all(self, caller: Caller) -> Sequence[MountRule]:
        """All mount rules, sorted by name. Raises Forbidden."""
        admins_only(caller)
        async with self.store.read() as tx:
            return await tx.mount_rules.all()

    async def put(
        self, caller: Caller, rule: MountRule, *, expected: Expectation = ANY
    ) -> tuple[MountRule, Sequence[str]]:
        """Write a whole mount rule. It counts from the next launch on; live runs keep their mounts.

        Returns:
            The rule as it is stored, and warnings about names that are unknown and probably misspelt.

        Raises:
            Forbidden: The caller is not an admin.
            Invalid: The rule is wrong.
            Overtaken: The rule is not the expected one.
        """
        admins_only(caller)
        async with self.store.write() as tx:
            rules = {one.name: one for one in await tx.mount_rules.all()}
            before = rules.get(rule.name)
            expected.check(f"The mount rule {rule.name!r}", before)
            try:
                rule = admitted(rule, rules.values())
            except Wrong as error:
                raise Invalid(error.field, error.value, error.message) from None
            await tx.mount_rules.put(rule)
            was, now = None if before is None else _facts(before), self.clock.now()
            data = {**_facts(rule), "before": was}
            subject = f"mount:{rule.name}"
            await audit(tx, caller, AdminAction.MOUNT_PUT, subject, at=now, before=was, after=_facts(rule))
            await tx.events.add(HistoryEvent(at=now, kind=EventKind.MOUNT_PUT, actor=caller.name, data=data))
            known = await tx.users.all()
        await self.bus.ring(FEED)
        return rule, [text for text in (stranger(rule.subject, known), self._no_group(rule)) if text is not None]

    async def delete(self, caller: Caller, name: str, *, expected: Expectation = ANY) -> None:
        """Delete a mount rule. Raises Forbidden, NotFound if there is no such rule, and Overtaken."""
        admins_only(caller)
        async with self.store.write() as tx:
            before = next((one for one in await tx.mount_rules.all() if one.name == name), None)
            if before is not None:
                expected.check(f"The mount rule {name!r}", before)
                was, now = _facts(before), self.clock.now()
                await audit(tx, caller, AdminAction.MOUNT_DELETED, f"mount:{name}", at=now, before=was)
            if not await tx.mount_rules.delete(name):
                raise NotFound(f"There is no mount rule {name!r}: `hai admin mounts list` lists them.")
            await tx.events.add(
                HistoryEvent(at=self.clock.now(), kind=EventKind.MOUNT_DELETED, actor=caller.name, data={"name": name})
            )
        await self.bus.ring(FEED)

    def _no_group(self, rule: MountRule) -> str | None:
        if rule.node_group is None or rule.node_group in self.latest_plan.groups():
            return None
        return (
            f"no node of a group {rule.node_group!r} takes tasks: check the spelling, or ignore this if it is a group"
            " of development containers"
        )


def _facts(rule: MountRule) -> Mapping[str, Any]:
    """All fields of the rule, for its events."""
    return {
        "name": rule.name,
        "subject": rule.subject,
        "action": rule.action.value,
        "kind": None if rule.kind is None else rule.kind.value,
        "source": rule.source,
        "mount_path": rule.mount_path,
        "read_only": rule.read_only,
        "priority": rule.priority,
        "node_group": rule.node_group,
    }
