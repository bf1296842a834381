"""Keep a user's name for that user: nobody is renamed at the Hub, and a user who is deleted there is archived.

Tasks, quota, checkpoints, environments and passwords go by the name. So a name that has been somebody's is given to
nobody else: the scheduler service keeps it as archived until an admin restores the user.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

from jupyterhub import orm
from jupyterhub.apihandlers.users import UserAPIHandler, UserListAPIHandler
from jupyterhub.scopes import needs_scope
from tornado.web import HTTPError

from hai_hub.logins.archived_users import NO_ANSWER, ArchivedUsers, service_token, session_at
from hai_hub.logins.plain_names import refusal_of

log = logging.getLogger("hai_hub")

#: Seconds that the service may take: it tells all tasks of a user to stop.
_PATIENCE_S: Final = 20.0

#: Archives a user. The arguments: the service's token, the user's name, and why. Raises one of `NO_ANSWER`.
Archive = Callable[[str, str, str], Awaitable[None]]


def archiving(api_url: str) -> Archive:
    """Return what archives a user at the scheduler service.

    Args:
        api_url: Base of the scheduler's REST interface as the Hub reaches it.
    """

    async def archive(token: str, name: str, note: str) -> None:
        async with (
            session_at(api_url, token, _PATIENCE_S) as session,
            session.post(f"users/{quote(name, safe='')}/archive", json={"note": note}, allow_redirects=False) as answer,
        ):
            if answer.status != 200:
                raise ValueError(f"status {answer.status}")

    return archive


def taken(name: str) -> str:
    """Return what somebody is told who wants to give an archived user's name to a user."""
    return (
        f"The name {name} is that of an archived user, whose tasks, quota and files go by it: choose another name for"
        f" another person; if it is the same person, `hai admin user restore {name}` first."
    )


def not_renamed(name: str, new: str) -> str:
    """Return what somebody is told who wants to rename a user."""
    return (
        f"name: {name} cannot be renamed to {new}: tasks, quota, files and passwords go by the name, and would be"
        f" nobody's. Add a user {new}, and archive {name} (`hai admin user archive {name}`)."
    )


_check_user_model = UserAPIHandler._check_user_model
_delete = UserAPIHandler.delete
_add_one = UserAPIHandler.post
_add_many = UserListAPIHandler.post


class KeptNames:
    """The names that are, or were, those of users.

    Args:
        archived: Who is archived.
        archive: Archives a user.
    """

    def __init__(self, archived: ArchivedUsers, archive: Archive) -> None:
        self._archived = archived
        self._archive = archive
        #: Users whom the Hub has deleted by itself, at its start (`Authenticator.delete_invalid_users`).
        self._deleted: set[str] = set()

    def note_deleted(self, _mapper: Any, _connection: Any, user: Any) -> None:
        """Note that the database deletes a user; SQLAlchemy calls this."""
        if _was_there(user):
            self._deleted.add(str(user.name))

    @contextmanager
    def by_request(self) -> Iterator[None]:
        """Forget the users that JupyterHub deletes meanwhile: they are archived, or could not be added."""
        before = set(self._deleted)
        try:
            yield
        finally:
            self._deleted.intersection_update(before)

    async def archive_deleted(self, token: str) -> None:
        """Archive the users whom the Hub has deleted by itself; those for whom there is no answer next time."""
        for name in sorted(self._deleted):
            try:
                await self._archive(token, name, "deleted at the Hub by its settings")
            except ValueError:
                continue  # that one is refused, and the others may not be
            except NO_ANSWER:
                return
            log.info("%s was deleted at the Hub, and is archived", name)
            self._deleted.discard(name)

    async def archive_first(self, handler: Any, name: str) -> None:
        """Archive a user whom a request deletes. Raises HTTPError: 503."""
        token = service_token(handler)
        try:
            await self._archive(token, name, f"deleted at the Hub by {handler.current_user.name}")
        except NO_ANSWER as error:
            log.warning("%s is not deleted: %s", name, type(error).__name__)
            message = f"{name} is not deleted: the scheduler service, which stops the tasks of {name},"
            raise HTTPError(503, f"{message} does not answer now. Try again when it does.") from None
        await self._archived.look(token)

    async def check_new(self, handler: Any, names: Iterable[Any]) -> None:
        """Raise HTTPError for a new user with a name that looks like others (400), or of an archived user (409)."""
        for given in names:
            name = handler.authenticator.normalize_username(str(given))
            if (why := refusal_of(name)) is not None:
                raise HTTPError(400, why)
            if handler.find_user(name) is None and await self._archived.includes(name, service_token(handler)):
                raise HTTPError(409, taken(name))


def _was_there(user: Any) -> bool:
    """Return whether a user has ever signed in or used a token: others have left nothing under their name."""
    return user.last_activity is not None


def keep_names(kept: KeptNames) -> None:
    """Let this Hub process rename nobody, archive whom it deletes, and give no archived user's name to another."""
    orm.event.listen(orm.User, "after_delete", kept.note_deleted)

    def check_user_model(self: Any, model: Any) -> Any:
        found = _check_user_model(self, model)
        if self.request.method == "PATCH" and "name" in model:
            name, new = str(self.path_args[0]), self.authenticator.normalize_username(model["name"])
            if new != name:
                raise HTTPError(409, not_renamed(name, new))
            # JupyterHub would take the name away from a user who is given their own; its admin page always sends it.
            del model["name"]
        return found

    @needs_scope("delete:users")
    async def delete(self: Any, user_name: str) -> None:
        user = self.find_user(user_name)
        refused = user is None or user.name == self.current_user.name or user.spawner._stop_pending
        if not refused and _was_there(user):
            await kept.archive_first(self, user.name)
        with kept.by_request():
            await _delete(self, user_name)

    @needs_scope("admin:users")
    async def add_one(self: Any, user_name: str) -> None:
        name = self.authenticator.normalize_username(user_name)
        if name != user_name:
            # JupyterHub would make a user who can never sign in.
            raise HTTPError(400, f"name: {user_name!r} is {name!r} to those who sign in: add {name!r}")
        await kept.check_new(self, [name])
        with kept.by_request():
            await _add_one(self, user_name)

    @needs_scope("admin:users")
    async def add_many(self: Any) -> None:
        data = self.get_json_body()
        names = data.get("usernames") if isinstance(data, dict) else None
        await kept.check_new(self, names if isinstance(names, list) else [])
        with kept.by_request():
            await _add_many(self)

    UserAPIHandler._check_user_model = check_user_model
    UserAPIHandler.delete = delete
    UserAPIHandler.post = add_one
    UserListAPIHandler.post = add_many
