"""What the authenticators of outside providers share: groups by a table, which are kept in step without a new login.

JupyterHub asks `refresh_user` at requests of a user; `watching` asks for those whose tasks wait and who send none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from jupyterhub.auth import Authenticator
from tornado.web import HTTPError
from traitlets import Bool, Dict, Integer, List, Unicode

from hai_hub.logins.claims import GroupTable
from hai_hub.logins.login_records import plain
from hai_hub.logins.questions import LoginState, Questions

#: Where the table of groups is written.
TABLE: Final = "logins.groups"
#: Which account of the provider a name is bound to, in `auth_state`.
ACCOUNT: Final = "hai_account"


class InStep(Authenticator):
    """An authenticator that can ask its provider about a user again."""

    group_table = List(Dict(), config=True, help="Rows with `match`, `group` and `admin`: see hai_hub.logins.claims.")
    allowed_members = List(
        Unicode(), config=True, help="Groups of the table whose members may sign in. Empty: those of any group of it."
    )
    keep_groups_s = Integer(
        0, config=True, help="Seconds for which groups are kept after the provider has ended a login."
    )
    look_every_s = Integer(30, config=True, help="Seconds between two questions about a user who has tasks.")
    bind_names = Bool(True, config=True, help="A name stays with the account of the provider that it first was of.")

    manage_groups = True
    enable_auth_state = True
    #: False of a user ends sessions and tokens. That is wanted: it is only said of users who are gone.
    auth_refresh_strict = True

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.table = GroupTable.of(self.group_table, TABLE)
        self.questions = Questions(self)
        #: What was last said, by what it is about: it is said once.
        self._said: dict[str, str] = {}

    def check_allow_config(self) -> None:
        """Say nothing at the start: JupyterHub knows no table of groups, and would warn that nobody may sign in."""

    async def ask_again(self, name: str, state: dict[str, Any]) -> dict[str, Any]:
        """Return a user's name, groups and auth state as the provider has them now.

        Args:
            name: Name of the user.
            state: The auth state of the last login or question.

        Raises:
            Ended: The provider does not know the login any more.
            Gone: The user may not sign in any more.
            Away: The provider does not answer.
        """
        raise NotImplementedError

    async def refresh_user(self, user: Any, handler: Any = None) -> bool:
        """Ask the provider about a user; JupyterHub calls this. False: the user must sign in again.

        Where only the provider's own login has ended, that is asked of the user's browser alone: a token cannot sign in
        again, and an admin who starts the user's server is somebody else.
        """
        found = await self.questions.soon(user)
        if found is LoginState.ENDED:
            by_token = getattr(handler, "_token_authenticated", False)
            return bool(by_token or getattr(handler, "_jupyterhub_user", None) is not user)
        return found is not LoginState.GONE

    def mapped(self, name: str, told: Iterable[object]) -> list[str]:
        """Return the groups of the Hub for the groups that the provider names; what is dropped is said once."""
        found = self.table.map(told)
        # Nobody has checked the name yet.
        self.say_once(f"groups of {name}", found.sentence(plain(name), TABLE))
        return list(found.groups)

    def say_once(self, about: str, sentence: str) -> None:
        """Write a sentence to the log, unless it was the last one about that; an empty one is not written."""
        if sentence and self._said.get(about) != sentence:
            self.log.warning("%s", sentence)
        self._said[about] = sentence

    async def check_allowed(self, username: str, authentication: dict[str, Any] | None) -> bool:
        """Whether a user may sign in: a member of a group of the table, or whom JupyterHub's own settings allow.

        Raises:
            HTTPError: 403, with the reason and the remedy.
        """
        if authentication is None:
            return True
        groups = set(authentication.get("groups") or ())
        if groups & set(self.table.admins) or (groups & set(self.allowed_members) if self.allowed_members else groups):
            return True
        allowed = super().check_allowed(username, authentication)
        if await allowed if asyncio.iscoroutine(allowed) else allowed:
            return True
        raise HTTPError(403, _why_not(username, groups, self.allowed_members))

    async def check_account(self, handler: Any, name: str, account: str) -> None:
        """Raise HTTPError (403) if a name was another account's: providers may let people change their names."""
        user = handler.find_user(self.normalize_username(name)) if self.bind_names else None
        state = await user.get_auth_state() if user is not None else None
        if (state or {}).get(ACCOUNT, account) != account:
            self.log.warning("%s is refused: the name was bound to another account of the provider", name)
            raise HTTPError(
                403,
                f"The name {name} belongs to another account, which signed in here before: ask the platform's admin. If"
                " accounts were made again at the provider, logins.bindNames: false lets them keep their names.",
            )


def _why_not(name: str, groups: set[str], allowed: Iterable[str]) -> str:
    if not groups:
        return (
            f"{name} is in no group that may use this platform: ask its admin to add a row to {TABLE} for one of"
            " your groups, or ask those who keep your groups to add you to one."
        )
    return (
        f"{name} is in {', '.join(sorted(groups))}, and only members of {', '.join(allowed)} may use this platform:"
        " ask its admin to add a group to logins.allowedGroups, or ask to be added to one."
    )
