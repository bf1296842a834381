"""Who may log in on one machine: the admin and invited users, each with a password of his own.

JupyterHub's own choices were no fit: `shared-password` lets everybody in as everybody, and its `admin_password` is one
for all admins of JupyterHub, of whom there are none here; `pam` needs an account for each user and rights to check it.
"""

from __future__ import annotations

import asyncio
from hmac import compare_digest
from pathlib import Path
from typing import Any

from jupyterhub.auth import Authenticator
from traitlets import Unicode

from hai_hub.logins.passwords import Passwords
from hai_hub.shared.errors import UpError


class OwnPasswordAuthenticator(Authenticator):
    """Names and passwords that `hai up` keeps in its state folder."""

    local_user = Unicode(config=True, help="The admin, whose password `hai up` has made or was given.")
    admin_password_file = Unicode(config=True, help="File with the admin's password.")
    passwords_file = Unicode(config=True, help="File with the hashes of invited users' passwords.")

    _one_at_a_time: asyncio.Semaphore | None = None

    @property
    def passwords(self) -> Passwords:
        """Those of invited users."""
        return Passwords(Path(self.passwords_file))

    async def authenticate(self, handler: Any, data: Any) -> str | None:
        """The name of whoever has given his own password, or None."""
        name = self.normalize_username(str(data.get("username", "")))
        password = str(data.get("password", ""))
        if name == self.local_user:
            return name if self._is_admins(password) else None
        user = handler.find_user(name)
        if user is None:
            return None
        if self._one_at_a_time is None:
            self._one_at_a_time = asyncio.Semaphore()
        # A guess costs a processor: guesses wait for each other, and nothing else waits for them.
        async with self._one_at_a_time:
            same = await asyncio.to_thread(self.passwords.matches, name, since(user), password)
        return name if same else None

    def _is_admins(self, password: str) -> bool:
        right = Path(self.admin_password_file).read_text(encoding="utf-8").strip()
        return bool(right) and compare_digest(password.encode("utf-8", "surrogatepass"), right.encode())

    def delete_user(self, user: Any) -> None:
        """Called by the Hub when a user is deleted."""
        super().delete_user(user)
        try:
            self.passwords.remove(user.name)
        except UpError as error:
            # It is of no use to anybody: who gets the name later is another user.
            self.log.warning("The password of %s is kept: %s", user.name, error)


def since(user: Any) -> str:
    """When the Hub has made a user: what tells him from others who had his name."""
    return str(user.created.isoformat()) if user.created is not None else ""
