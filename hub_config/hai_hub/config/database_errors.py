"""Tells a Hub whose database errs from a token or a cookie that the Hub does not know.

To JupyterHub a user whom it cannot look up is nobody: while its disk is full, each token would be refused as unknown,
and each page would lead to the login. Like `hub_process`, this changes internals of JupyterHub.
"""

from __future__ import annotations

from typing import Any, Final

from jupyterhub.handlers.base import BaseHandler
from sqlalchemy.exc import SQLAlchemyError
from tornado.web import HTTPError

_DISK_FULL: Final = "The disk of the Hub's database is full: free space on it, then try again."
_ERRS: Final = "The Hub's database cannot do it now: try again in a moment."
#: Parts of what SQLite and PostgreSQL say of a disk without room.
_FULL: Final = ("disk is full", "no space left")


def tell_database_errors() -> None:
    """Let this Hub process answer 503 where its database does not let it find out who asks."""
    find_user, prepare = BaseHandler.get_current_user, BaseHandler.prepare

    async def get_current_user(self: Any) -> Any:
        try:
            return await find_user(self)
        except SQLAlchemyError as error:
            self.hai_database_error = error
            raise

    async def prepare_or_refuse(self: Any) -> None:
        try:
            await prepare(self)
        finally:
            error = self.__dict__.pop("hai_database_error", None)
            if error is not None:
                raise HTTPError(503, sentence(error))

    BaseHandler.get_current_user = get_current_user
    BaseHandler.prepare = prepare_or_refuse


def roll_back(session: Any, error: BaseException) -> None:
    """Make the Hub's session good for the next question, if it was the database that erred."""
    if isinstance(error, SQLAlchemyError):
        session.rollback()


def sentence(error: BaseException) -> str:
    """Return what users are told of an error of the database; it shows no internals of the platform."""
    said = str(error).lower()
    return _DISK_FULL if any(part in said for part in _FULL) else _ERRS
