"""Who asks: a user's name and groups, from the Hub's variables or the machine."""

from __future__ import annotations

import getpass
import grp
import os
from typing import Mapping

from haienv.store.layout import root_of
from haienv.store.login import login_of
from haienv.store.names import NAME
from haienv.store.registry import Caller

#: The user and the groups, where the platform knows them: separated by commas.
USER_VARIABLE, GROUPS_VARIABLE = "HAIENV_USER", "HAIENV_GROUPS"


def caller_of(environ: Mapping[str, str]) -> Caller:
    """Return who asks: by HAIENV_USER and HAIENV_GROUPS, the Hub's name of the user, the login, or the Unix account.

    These variables choose what a bare name means. What the user may read and change, the file system decides.
    """
    user = environ.get(USER_VARIABLE) or environ.get("JUPYTERHUB_USER") or _logged_in(environ) or getpass.getuser()
    if GROUPS_VARIABLE in environ:
        groups = [name.strip() for name in environ[GROUPS_VARIABLE].split(",")]
    else:
        groups = [_name_of(number) for number in os.getgroups()]
    return Caller(user, tuple(sorted({name for name in groups if NAME.fullmatch(name)})))


def _logged_in(environ: Mapping[str, str]) -> str:
    """Return the user's name at the platform whose environments these are; empty: it is not known."""
    login = login_of(environ)
    known = login is not None and login.root == root_of(environ) and NAME.fullmatch(login.user)
    return login.user if login is not None and known else ""


def _name_of(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return ""
