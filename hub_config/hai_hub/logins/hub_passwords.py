"""Passwords on a cluster: as on one machine, but their hashes are in the Hub's database, encrypted, with the user."""

from __future__ import annotations

import asyncio
import secrets
from hmac import compare_digest
from typing import Any, Final

from traitlets import Unicode

from hai_hub.logins.authenticator import PasswordAuthenticator, is_same
from hai_hub.logins.passwords import hashed
from hai_hub.shared.state import generated_password

_HASH: Final = "hai_password"


class HubPasswordAuthenticator(PasswordAuthenticator):
    """Checks names and passwords: the first admin's is a setting, those of others are made by admins."""

    admin_password = Unicode(config=True, help="The password of `local_user`.")

    def is_admins(self, password: str) -> bool:
        """Whether this is the first admin's password."""
        return is_same(self.admin_password.strip(), password)

    async def is_users(self, user: Any, password: str) -> bool:
        """Whether this is a user's password."""
        kept = (await user.get_auth_state() or {}).get(_HASH)
        if not isinstance(kept, dict):
            return False
        found = await asyncio.to_thread(hashed, password, bytes.fromhex(kept["salt"]))
        return compare_digest(found, kept["hash"])

    async def make_password(self, user: Any) -> str:
        """Give a user a new password, and return it; only its hash is kept."""
        password, salt = generated_password(), secrets.token_bytes(16)
        kept = {"salt": salt.hex(), "hash": await asyncio.to_thread(hashed, password, salt)}
        await user.save_auth_state({**(await user.get_auth_state() or {}), _HASH: kept})
        return password

    async def model(self, user: Any, name: str) -> dict[str, Any]:
        """Return who has signed in: JupyterHub keeps the auth state that is in it, and no other."""
        return {"name": name, "auth_state": None if user is None else await user.get_auth_state()}
