"""A Hub changes JupyterHub and tornado for its whole process; what its configuration changes is undone here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import tornado.tcpserver
from jupyterhub import handlers, orm
from jupyterhub.apihandlers.users import UserAPIHandler, UserListAPIHandler, UserTokenListAPIHandler
from jupyterhub.auth import Authenticator
from jupyterhub.handlers.base import BaseHandler
from jupyterhub.objects import Server
from jupyterhub.services import service
from tornado.httpserver import HTTPServer

#: Classes and modules of which `hai_hub` changes something.
CHANGED: tuple[Any, ...] = (
    *(Authenticator, BaseHandler, Server, UserAPIHandler, UserListAPIHandler, UserTokenListAPIHandler, orm.User),
    *(handlers, service, tornado.tcpserver),
)


@contextmanager
def as_it_was() -> Iterator[None]:
    """Undo at the end what is changed inside."""
    before = [dict(vars(each)) for each in CHANGED]
    served_by = HTTPServer._save_configuration()
    try:
        yield
    finally:
        HTTPServer._restore_configuration(served_by)
        for each, names in zip(CHANGED, before, strict=True):
            for name in [name for name, value in vars(each).items() if names.get(name) is not value]:
                if name in names:
                    setattr(each, name, names[name])
                else:
                    delattr(each, name)


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """For the conftest of a folder whose tests configure Hubs."""
    with as_it_was():
        yield
