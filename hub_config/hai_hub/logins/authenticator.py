"""Check logins with passwords that HAI keeps: the admin and invited users each have one of their own.

JupyterHub's authenticators do not fit. With `shared-password` each user can log in as any other, and its
`admin_password` is for JupyterHub admins, which HAI does not use. `pam` needs a Unix account for each user, and the
right to check its password.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from hmac import compare_digest
from pathlib import Path
from typing import Any

from jupyterhub.auth import Authenticator
from traitlets import Unicode

from hai_hub.logins.passwords import Passwords
from hai_hub.shared.errors import UpError


class PasswordAuthenticator(Authenticator):
    """Checks names and passwords, one login at a time."""

    local_user = Unicode(config=True, help="The first admin, whose password is made or given where the Hub is set up.")

    _one_at_a_time: asyncio.Semaphore | None = None
    _clock = staticmethod(time.monotonic)
    _sleep = staticmethod(asyncio.sleep)

    def is_admins(self, password: str) -> bool:
        """Whether this is the first admin's password."""
        raise NotImplementedError

    async def is_users(self, user: Any, password: str) -> bool:
        """Whether this is the password of an invited user."""
        raise NotImplementedError

    async def make_password(self, user: Any) -> str:
        """Give an invited user a new password, and return it. Raises UpError."""
        raise NotImplementedError

    async def model(self, _user: Any, name: str) -> str | dict[str, Any]:
        """Return who has signed in, as JupyterHub takes it; the user is None at the admin's first login."""
        return name

    async def authenticate(self, handler: Any, data: Any) -> str | dict[str, Any] | None:
        """Return who signs in if the password is right, else None.

        A refusal comes a whole number of seconds after the try: how long it took would tell who is a user. Hashing for
        names that are none as well would let anybody keep the Hub's processor busy, and other logins waiting.
        """
        began = self._clock()
        name = self.normalize_username(str(data.get("username", "")))
        user = handler.find_user(name)
        if await self._is_right(name, user, str(data.get("password", ""))):
            return await self.model(user, name)
        await after_whole_seconds(self._clock() - began, self._sleep)
        return None

    async def _is_right(self, name: str, user: Any, password: str) -> bool:
        if name == self.local_user:
            return self.is_admins(password)
        if user is None:
            return False
        if self._one_at_a_time is None:
            self._one_at_a_time = asyncio.Semaphore()
        # Hashing keeps a processor busy: logins are checked one at a time, so that nothing else waits.
        async with self._one_at_a_time:
            return await self.is_users(user, password)


class OwnPasswordAuthenticator(PasswordAuthenticator):
    """Checks names and passwords against the files that `hai up` keeps in its state folder."""

    admin_password_file = Unicode(config=True, help="File with the admin's password.")
    passwords_file = Unicode(config=True, help="File with the hashes of invited users' passwords.")

    @property
    def passwords(self) -> Passwords:
        """The passwords of invited users."""
        return Passwords(Path(self.passwords_file))

    def is_admins(self, password: str) -> bool:
        """Whether this is the password that `hai up` has made or was given."""
        return is_same(Path(self.admin_password_file).read_text(encoding="utf-8").strip(), password)

    async def is_users(self, user: Any, password: str) -> bool:
        """Whether this is the password of an invited user."""
        return await asyncio.to_thread(self.passwords.matches, user.name, since(user), password)

    async def make_password(self, user: Any) -> str:
        """Give an invited user a new password, and return it. Raises UpError."""
        return await asyncio.to_thread(self.passwords.make, user.name, since(user))

    def delete_user(self, user: Any) -> None:
        """Remove a deleted user's password; the Hub calls this."""
        super().delete_user(user)
        try:
            self.passwords.remove(user.name)
        except UpError as error:
            # The password is useless: it holds only for a user who was made at the same time (`since`).
            self.log.warning("The password of %s is kept: %s", user.name, error)


async def after_whole_seconds(took: float, sleep: Callable[[float], Awaitable[None]]) -> None:
    """Wait until a refusal has taken whole seconds, so that how long it took tells nothing of the name."""
    await sleep(math.floor(took) + 1 - took)


def is_same(right: str, password: str) -> bool:
    """Whether a password is the right one, which may not be empty."""
    return bool(right) and compare_digest(password.encode("utf-8", "surrogatepass"), right.encode())


def since(user: Any) -> str:
    """Return when the Hub made a user, as text: it distinguishes users who had the same name one after the other."""
    return str(user.created.isoformat()) if user.created is not None else ""
