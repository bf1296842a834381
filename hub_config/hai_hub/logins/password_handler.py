"""The endpoint where an admin makes a password for a user: `POST /hub/hai/users/NAME/password`."""

from __future__ import annotations

import json
from typing import Final

from jupyterhub import apihandlers, orm
from jupyterhub.apihandlers.base import APIHandler
from jupyterhub.scopes import needs_scope
from tornado.web import HTTPError

from hai_hub.logins.authenticator import PasswordAuthenticator
from hai_hub.shared.cautions import when_invited
from hai_hub.shared.errors import UpError

#: Where an admin makes passwords, below the Hub's prefix.
PASSWORDS: Final = r"/hai/users/([^/]+)/password"


class PasswordHandler(APIHandler):
    """Makes a new password for a user. A password that exists cannot be read."""

    def initialize(self, unix_users: str, setting: str) -> None:
        """Store the arguments of the routing table; tornado calls this.

        Args:
            unix_users: Pattern for the names of users' Unix accounts; empty: users have none.
            setting: What changes the first admin's password.
        """
        self._unix_users = unix_users
        self._setting = setting

    @needs_scope("admin:users")
    async def post(self, user_name: str) -> None:
        """Make a password; browser sessions that were opened with the old password end."""
        authenticator = self.authenticator
        if not isinstance(authenticator, PasswordAuthenticator):
            raise HTTPError(404, "users of this Hub sign in in another way; it keeps no passwords")
        user = self.find_user(user_name)
        if user is None:
            raise HTTPError(404, f"no user {user_name}; `hai admin user add` adds one")
        if user.name == authenticator.local_user:
            raise HTTPError(
                400, f"{user.name} is the first admin, whose password is a setting: {self._setting} changes it"
            )
        try:
            password = await authenticator.make_password(user)
        except UpError as error:
            raise HTTPError(503, str(error)) from None
        user.cookie_id = orm.new_token()
        self.db.commit()
        self.log.info("%s has made a password for %s", self.current_user.name, user.name)
        self.set_status(201)
        self.set_header("Cache-Control", "no-store")
        warning = when_invited(user.name, self._unix_users)
        self.finish(json.dumps({"name": user.name, "password": password, "warning": warning}))


def add_password_handler(unix_users: str, setting: str) -> None:
    """Let this Hub process have the endpoint. For the arguments see `PasswordHandler.initialize`."""
    others = [route for route in apihandlers.default_handlers if route[0] != PASSWORDS]
    given = {"unix_users": unix_users, "setting": setting}
    apihandlers.default_handlers[:] = [*others, (PASSWORDS, PasswordHandler, given)]
