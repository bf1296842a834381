"""Sign in with a name and a password of an LDAP directory; its groups are asked for by an account that looks up others.

jupyterhub-ldapauthenticator, which is installed as well, asks in the Hub's own thread and without a limit of time,
believes any certificate, and knows a user's groups at the login alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from tornado.web import HTTPError
from traitlets import Bool, List, Unicode

from hai_hub.logins.authenticator import after_whole_seconds
from hai_hub.logins.directory import Directory, DirectorySettings, DirectoryUser
from hai_hub.logins.in_step import InStep
from hai_hub.logins.login_guard import too_many
from hai_hub.logins.questions import Away, Gone

#: Questions to the directory at once, and logins that may wait for one.
AT_ONCE: Final = 16
MOST_WAITING: Final = 100


class LdapAuthenticator(InStep):
    """Checks passwords by a directory."""

    address = Unicode(config=True, help="ldaps://HOST[:PORT], or ldap://HOST[:PORT].")
    start_tls = Bool(True, config=True, help="Whether a connection to ldap:// is encrypted before anything is said.")
    bind_dn = Unicode(config=True, help="The account that looks up others; empty: nobody's.")
    bind_password = Unicode(config=True, help="Its password.")
    user_base = Unicode(config=True, help="Users are below this entry.")
    user_filter = Unicode("(uid={user})", config=True, help="Which entry is a user's; `{user}` is the name.")
    name_attribute = Unicode("uid", config=True, help="Attribute with the name of a user here.")
    group_base = Unicode(config=True, help="Groups are below this entry; empty: only `memberOf` of users counts.")
    group_filter = Unicode(
        "(|(member={dn})(uniqueMember={dn})(memberUid={user}))", config=True, help="Which groups are a user's."
    )
    attributes = List(Unicode(), ["uidNumber", "gidNumber", "homeDirectory"], config=True, help="Attributes to keep.")

    _clock = staticmethod(time.monotonic)
    _sleep = staticmethod(asyncio.sleep)

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        #: Of its own: while a directory hangs, it holds up nothing else that the Hub does in threads.
        self._threads = ThreadPoolExecutor(AT_ONCE, "ldap")
        self._waiting = 0
        self.directory = Directory(
            DirectorySettings(
                address=self.address,
                start_tls=self.start_tls,
                bind_dn=self.bind_dn,
                bind_password=self.bind_password,
                user_base=self.user_base,
                user_filter=self.user_filter,
                name_attribute=self.name_attribute,
                group_base=self.group_base,
                group_filter=self.group_filter,
                attributes=tuple(self.attributes),
            )
        )

    async def authenticate(self, _handler: Any, data: Any) -> dict[str, Any] | None:
        """Return the model of who signs in; None: no such user, or another password. Raises HTTPError (503)."""
        name, password, began = str(data.get("username", "")), str(data.get("password", "")), self._clock()
        if self._waiting >= MOST_WAITING:
            raise too_many("Too many people sign in at once, or the directory is slow: try again in a minute", 60)
        self._waiting += 1
        try:
            found = await self._in_thread(self.directory.signed_in, name, password)
        except Away as away:
            self.log.error("%s", away)
            raise HTTPError(503, f"{away} Nobody can sign in until then.") from None
        finally:
            self._waiting -= 1
        if found is None:
            await after_whole_seconds(self._clock() - began, self._sleep)
            return None
        return self._model(found)

    async def _in_thread(self, ask: Callable[..., DirectoryUser | None], *given: str) -> DirectoryUser | None:
        return await asyncio.get_running_loop().run_in_executor(self._threads, ask, *given)

    async def ask_again(self, name: str, _state: dict[str, Any]) -> dict[str, Any]:
        """Return what the directory says now. See InStep."""
        found = await self._in_thread(self.directory.find, name)
        if found is None or self.normalize_username(found.name) != name:
            raise Gone(f"the directory has no such user below {self.user_base}")
        return self._model(found)

    def _model(self, entry: DirectoryUser) -> dict[str, Any]:
        name = self.normalize_username(entry.name)
        claims = {key: values[0] if len(values) == 1 else values for key, values in entry.attributes.items()}
        groups = self.mapped(name, entry.groups)
        return {
            "name": name,
            "admin": name in self.admin_users or None,
            "auth_state": {"claims": claims},
            "groups": groups,
        }
