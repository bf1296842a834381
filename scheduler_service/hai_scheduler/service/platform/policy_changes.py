"""Policy numbers at run time: how users read them and admins change them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.policy import Policies, PolicyError
from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.shared.auditing import audit
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.doorbell import ring_change
from hai_scheduler.service.shared.errors import Invalid, Unavailable
from hai_scheduler.service.shared.known_names import unknown_group
from hai_scheduler.service.shared.policy_numbers import BY_NAME, number_of, read, written
from hai_scheduler.service.shared.policy_store import (
    SETTING,
    Misfit,
    NumberOrigin,
    Override,
    Overrides,
    PolicyLayers,
    overrides_of,
    text_of,
)
from hai_scheduler.service.shared.versions import ANY, Expectation, version_of
from hai_scheduler.service.shared.world import UseCase


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """All policy numbers in force by name, with their sources."""

    #: The numbers in all node groups without numbers of their own.
    default: Mapping[str, NumberOrigin]
    #: The numbers by node group, for all groups with nodes or with numbers of their own.
    groups: Mapping[str, Mapping[str, NumberOrigin]]
    #: Why the values of admins are not used; None: they are.
    trouble: str | None
    #: Warnings about names of users and groups that are unknown and probably misspelt.
    warnings: Sequence[str]
    #: The version of all values of admins together.
    version: str = ""


class PolicyChanges(UseCase):
    """The use cases of policy numbers."""

    async def view(self) -> PolicyView:
        """The numbers as the next tick will use them."""
        async with self.store.read() as tx:
            await self.policies.refresh(tx)
            known = {user.name for user in await tx.users.all()}
            stored, _ = overrides_of(await tx.settings.get(SETTING))
        layers, groups = self.policies.layers, self.latest_plan.groups()
        names = sorted({*groups, *layers.groups()})
        return PolicyView(
            default={name: layers.origin(name) for name in BY_NAME},
            groups={group: {name: layers.origin(name, group) for name in BY_NAME} for group in names},
            trouble=self.policies.trouble,
            warnings=[*_strangers(layers, known), *_empty_groups(layers, groups)],
            version=version_of(stored),
        )

    async def change(
        self,
        caller: Caller,
        group: str | None,
        values: Mapping[str, object],
        unset: Collection[str],
        *,
        expected: Expectation = ANY,
    ) -> None:
        """Set policy numbers, and remove the admins' values of others. All values are checked together before.

        Args:
            caller: The admin.
            group: The node group; None is all groups.
            values: The new values by name, as `read` takes them.
            unset: The names whose value of an admin is removed.
            expected: The version of all values of admins that the caller has read. One for all groups and numbers,
                because they are checked against each other.

        Raises:
            Forbidden: The caller is not an admin.
            Invalid: A name or a value is wrong, or the values contradict each other.
            Overtaken: An admin has changed numbers since the caller read them.
            Unavailable: The nodes are not known yet, so the group cannot be checked.
        """
        admins_only(caller)
        async with self.store.write() as tx:
            before, _ = overrides_of(await tx.settings.get(SETTING))
            expected.check("What admins have set of the policy numbers", before)
            after, layers = self._after(caller, before, group, values, unset)
            await tx.settings.put(SETTING, text_of(after))
            told = self._told(before, layers, group)
            if told:
                was, is_ = ({name: pair[side] for name, pair in told.items()} for side in ("old", "new"))
                subject = "policy" if group is None else f"policy:{group}"
                await audit(tx, caller, AdminAction.POLICY_CHANGED, subject, at=self.clock.now(), before=was, after=is_)
            await self._line(tx, caller, group, told)
        await ring_change(self.bus)

    async def tried(
        self, caller: Caller, group: str | None, values: Mapping[str, object], unset: Collection[str]
    ) -> Policies:
        """The policies as `change` would leave them; nothing is changed. The arguments and errors are those of it."""
        admins_only(caller)
        async with self.store.read() as tx:
            before, _ = overrides_of(await tx.settings.get(SETTING))
        return self._after(caller, before, group, values, unset)[1].policies()

    def _after(
        self,
        caller: Caller,
        before: Overrides,
        group: str | None,
        values: Mapping[str, object],
        unset: Collection[str],
    ) -> tuple[Overrides, PolicyLayers]:
        """The values of admins after a change, and all values with them. Raises Invalid and Unavailable."""
        given = _read(values, unset)
        self._check_group(group, before)
        at = self.clock.now()
        own = {name: one for name, one in before.get(group, {}).items() if name not in unset}
        for name, value in given.items():
            if name not in own or own[name].value != value:
                own[name] = Override(value, caller.name, at)
        after = {**before, group: own}
        return after, self._checked(after, group, values, unset)

    def _check_group(self, group: str | None, before: Overrides) -> None:
        groups = self.latest_plan.groups()
        if group is None or group in groups or group in before or group in self.policies.settings.policy.groups:
            return
        if not groups:
            raise Unavailable("The scheduler has not seen the nodes yet: try again in a few seconds.")
        raise unknown_group(group, groups, further=", or none")

    def _checked(
        self, after: Overrides, group: str | None, values: Mapping[str, object], unset: Collection[str]
    ) -> PolicyLayers:
        layers = PolicyLayers(self.policies.settings, after)
        try:
            layers.policies()
        except Misfit as error:
            # A value for all groups is not at fault in a group with a value of its own.
            blamable = [name for name in values if layers.origin(name, error.group).group == group]
            name = _blamed(error, blamable) or _blamed(error, [*unset, *values])
            field = f"set.{name}" if name in values else "unset" if name in unset else "set"
            raise Invalid(field, values.get(name or "", name), str(error)) from None
        return layers

    def _told(self, before: Overrides, after: PolicyLayers, group: str | None) -> dict[str, Any]:
        """The old and new values in force of the numbers that have changed, in the group or in all groups."""
        earlier = PolicyLayers(self.policies.settings, before)
        told = {}
        for name in BY_NAME:
            old, new = earlier.origin(name, group), after.origin(name, group)
            if (old.value, old.source, old.group) != (new.value, new.source, new.group):
                told[name] = {"old": written(old.value), "new": written(new.value)}
        return told

    async def _line(self, tx: Tx, caller: Caller, group: str | None, changes: Mapping[str, Any]) -> None:
        if changes:
            data = {"group": group, "changes": changes}
            await tx.events.add(
                HistoryEvent(at=self.clock.now(), kind=EventKind.POLICY_CHANGED, actor=caller.name, data=data)
            )


def _read(values: Mapping[str, object], unset: Collection[str]) -> dict[str, Any]:
    """The given values in the form that `Policy` takes. Raises Invalid."""
    if not values and not unset:
        raise Invalid("set", {}, "name at least one number to set or to unset")
    for name in unset:
        if name in values:
            raise Invalid("unset", name, f"{name} is to be set as well: do one of the two")
        _known("unset", name)
    read_values = {}
    for name, value in values.items():
        _known("set", name)
        try:
            read_values[name] = read(name, value)
        except PolicyError as error:
            raise Invalid(f"set.{name}", value, str(error).removeprefix(f"{name}: ")) from None
    return read_values


def _known(field: str, name: str) -> None:
    try:
        number_of(name)
    except PolicyError as error:
        raise Invalid(field, name, str(error)) from None


def _blamed(error: PolicyError, names: Sequence[str]) -> str | None:
    """The given name that the error is about; None if it is about none of them."""
    words = [error.name, *str(error).replace("(", " ").split()]
    return next((word for word in words if word in names), None)


def _strangers(layers: PolicyLayers, known: Collection[str]) -> list[str]:
    """Warnings about weights of users that HAI has never seen."""
    origins = [layers.origin("weights", level) for level in (None, *sorted(layers.groups()))]
    named = {user for origin in origins for user in origin.value}
    return [f"weights: HAI has never seen a user {user!r}: check the spelling" for user in sorted(named - {*known})]


def _empty_groups(layers: PolicyLayers, groups: Collection[str]) -> list[str]:
    missing = sorted(layers.groups() - {*groups}) if groups else []
    return [f"group {group!r} has numbers of its own but no nodes: check the spelling" for group in missing]
