"""The endpoint where an admin makes a password for a user: `POST /hub/hai/users/NAME/password`."""

from __future__ import annotations

import asyncio
import json

from jupyterhub import orm
from jupyterhub.apihandlers.base import APIHandler
from jupyterhub.scopes import needs_scope
from tornado.web import HTTPError

from hai_hub.logins.authenticator import OwnPasswordAuthenticator, since
from hai_hub.shared.cautions import when_invited
from hai_hub.shared.errors import UpError


class PasswordHandler(APIHandler):
    """Makes a new password for a user. A password that exists cannot be read."""

    def initialize(self, unix_users: str) -> None:
        """Store the argument of the routing table; tornado calls this.

        Args:
            unix_users: Pattern for the names of users' Unix accounts; empty: users have none.
        """
        self._unix_users = unix_users

    @needs_scope("admin:users")
    async def post(self, user_name: str) -> None:
        """Make a password; browser sessions that were opened with the old password end."""
        authenticator = self.authenticator
        if not isinstance(authenticator, OwnPasswordAuthenticator):
            raise HTTPError(404, "users of this Hub sign in in another way; it keeps no passwords")
        user = self.find_user(user_name)
        if user is None:
            raise HTTPError(404, f"no user {user_name}; `hai admin user add` adds one")
        if user.name == authenticator.local_user:
            raise HTTPError(400, f"{user.name} is the admin: `hai up --password` sets this password at the next start")
        try:
            password = await asyncio.to_thread(authenticator.passwords.make, user.name, since(user))
        except UpError as error:
            raise HTTPError(503, str(error)) from None
        user.cookie_id = orm.new_token()
        self.db.commit()
        self.log.info("%s has made a password for %s", self.current_user.name, user.name)
        self.set_status(201)
        self.set_header("Cache-Control", "no-store")
        warning = when_invited(user.name, self._unix_users)
        self.finish(json.dumps({"name": user.name, "password": password, "warning": warning}))
