"""Check logins on one machine: the admin and invited users each have a password of their own.

JupyterHub's authenticators do not fit. With `shared-password` each user can log in as any other, and its
`admin_password` is for JupyterHub admins, which HAI does not use. `pam` needs a Unix account for each user, and the
right to check its password.
"""

from __future__ import annotations

import asyncio
import math
import time
from hmac import compare_digest
from pathlib import Path
from typing import Any

from jupyterhub.auth import Authenticator
from traitlets import Unicode

from hai_hub.logins.passwords import Passwords
from hai_hub.shared.errors import UpError


class OwnPasswordAuthenticator(Authenticator):
    """Checks names and passwords against the files that `hai up` keeps in its state folder."""

    local_user = Unicode(config=True, help="The admin, whose password `hai up` has made or was given.")
    admin_password_file = Unicode(config=True, help="File with the admin's password.")
    passwords_file = Unicode(config=True, help="File with the hashes of invited users' passwords.")

    _one_at_a_time: asyncio.Semaphore | None = None
    _clock = staticmethod(time.monotonic)
    _sleep = staticmethod(asyncio.sleep)

    @property
    def passwords(self) -> Passwords:
        """The passwords of invited users."""
        return Passwords(Path(self.passwords_file))

    async def authenticate(self, handler: Any, data: Any) -> str | None:
        """Return the user's name if the password is right, else None.

        A refusal comes a whole number of seconds after the try: how long it took would tell who is a user. Hashing for
        names that are none as well would let anybody keep the Hub's processor busy, and other logins waiting.
        """
        began = self._clock()
        name = await self._checked(handler, data)
        if name is None:
            took = self._clock() - began
            await self._sleep(math.floor(took) + 1 - took)
        return name

    async def _checked(self, handler: Any, data: Any) -> str | None:
        name = self.normalize_username(str(data.get("username", "")))
        password = str(data.get("password", ""))
        if name == self.local_user:
            return name if self._is_admins(password) else None
        user = handler.find_user(name)
        if user is None:
            return None
        if self._one_at_a_time is None:
            self._one_at_a_time = asyncio.Semaphore()
        # Hashing keeps a processor busy: logins are checked one at a time, in a thread, so that nothing else waits.
        async with self._one_at_a_time:
            same = await asyncio.to_thread(self.passwords.matches, name, since(user), password)
        return name if same else None

    def _is_admins(self, password: str) -> bool:
        right = Path(self.admin_password_file).read_text(encoding="utf-8").strip()
        return bool(right) and compare_digest(password.encode("utf-8", "surrogatepass"), right.encode())

    def delete_user(self, user: Any) -> None:
        """Remove a deleted user's password; the Hub calls this."""
        super().delete_user(user)
        try:
            self.passwords.remove(user.name)
        except UpError as error:
            # The password is useless: it holds only for a user who was made at the same time (`since`).
            self.log.warning("The password of %s is kept: %s", user.name, error)


def since(user: Any) -> str:
    """Return when the Hub made a user, as text: it distinguishes users who had the same name one after the other."""
    return str(user.created.isoformat()) if user.created is not None else ""
