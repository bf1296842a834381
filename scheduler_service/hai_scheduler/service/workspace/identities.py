"""Who a user's processes are, at each place that needs to know: a submission, a start, a container, a user who asks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.task import TaskSpec
from hai_scheduler.core.workspace.identity import Identity, NoIdentity, unlike
from hai_scheduler.service.shared.auditing import Facts, audit
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.store.transaction import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityAnswer:
    """Who a user's processes are."""

    #: None: the platform's one account, or none (`why`).
    identity: Identity | None = None
    #: Why nothing of the user starts; empty: it does.
    why: str = ""


class UserIdentities(UseCase):
    """The use cases."""

    async def of(self, user: str) -> IdentityAnswer:
        """Return who a user's processes are, or why they are nobody. Raises Temporary."""
        try:
            return IdentityAnswer(identity=await self._of(user))
        except NoIdentity as error:
            return IdentityAnswer(why=str(error))

    async def at_submission(self, user: str) -> int | None:
        """Return the number of the user, which a task keeps; None: the platform's one account.

        Raises Invalid if nothing of the user starts, and Temporary.
        """
        try:
            found = await self._of(user)
        except NoIdentity as error:
            raise Invalid("user", user, str(error)) from None
        return None if found is None else found.uid

    async def at_launch(self, user: str, spec: TaskSpec) -> Identity | None:
        """Return who the next run of a task is; None: the platform's one account.

        Raises NoIdentity, also where the user has had another number at the submission, and Temporary.
        """
        found = await self._of(user)
        if found is not None and spec.uid not in (None, found.uid):
            raise unlike(user, spec.uid, found.uid)
        return found

    async def of_builds(self, account: str, owner: str, asked: Identity | None) -> Identity | None:
        """Return the account of a build for a group or for all. Raises NoIdentity.

        Args:
            account: Its name or number in the settings.
            owner: Whose environment is built: `groups/cv` or `base`.
            asked: Who has asked for the build. Of this account's groups the one of the owner's name counts: its folder
                is that group's.
        """
        if self.world.identities is None:
            return None
        found = await self.world.identities.of_account(account)
        level, _, name = owner.partition("/")
        more = (
            group for group in (asked.groups if asked is not None else ()) if level == "groups" and group.name == name
        )
        return replace(found, groups=tuple(dict.fromkeys((*found.groups, *more))))

    async def write(self, caller: Caller, identity: Identity) -> None:
        """Keep what the login of a user has told; the account is called as the user.

        What no user may be is kept too, and refused where it counts: the user is then told why. The interface says who
        may write.
        """
        async with self.store.read() as tx:
            if (await tx.users.identities()).get(identity.name) == identity:
                # A login tells the same each time.
                return
        async with self.store.write() as tx:
            before = (await tx.users.identities()).get(identity.name)
            await tx.users.put_identity(identity)
            facts = None if before is None else _facts(before)
            await self._audit(tx, caller, AdminAction.IDENTITY_PUT, identity.name, facts, _facts(identity))

    async def remove(self, caller: Caller, user: str) -> None:
        """Forget what logins of a user told: the latest told no number."""
        async with self.store.read() as tx:
            if user not in await tx.users.identities():
                return
        async with self.store.write() as tx:
            before = (await tx.users.identities()).get(user)
            if before is not None:
                await tx.users.remove_identity(user)
                await self._audit(tx, caller, AdminAction.IDENTITY_DELETED, user, _facts(before), None)

    async def _audit(
        self, tx: Tx, caller: Caller, action: AdminAction, user: str, before: Facts | None, after: Facts | None
    ) -> None:
        await audit(tx, caller, action, f"user:{user}", at=self.clock.now(), before=before, after=after)

    async def _of(self, user: str) -> Identity | None:
        return None if self.world.identities is None else await self.world.identities.of(user)


def _facts(identity: Identity) -> Facts:
    return {"uid": identity.uid, "groups": [str(group) for group in identity.groups], "home": identity.home}
