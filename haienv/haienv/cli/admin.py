"""The verb of admins: `init` makes the folders of users and groups, so that nobody can take another one's name."""

from __future__ import annotations

import argparse
import grp
import os
import pwd
from pathlib import Path
from typing import Any

from haienv.cli.parser import add_verb
from haienv.cli.session import answer
from haienv.shared.errors import Missing, Wrong
from haienv.store import names
from haienv.store.layout import root_of
from haienv.store.names import BASE, GROUPS, USERS
from haienv.store.references import folder_for


def add_verbs(verbs: Any) -> None:
    """Add the verb."""
    init = add_verb(verbs, "init", "make the folders of a root of environments (for admins)", _init, writes=True)
    init.add_argument("--user", metavar="USER", action="append", default=[], help="a Unix account; can be repeated")
    init.add_argument("--group", metavar="GROUP", action="append", default=[], help="a Unix group; can be repeated")


def _init(arguments: argparse.Namespace) -> int:
    root = root_of(os.environ)
    accounts = [_account(name) for name in arguments.user]
    groups = [_group(name) for name in arguments.group]
    for folder in (
        root,
        root / BASE,
        root / GROUPS,
        root / USERS,
        folder_for(root, None),
        folder_for(root, "x").parent,
    ):
        folder.mkdir(parents=True, exist_ok=True)
    made = []
    for account in accounts:
        for folder in (root / USERS / account.pw_name, folder_for(root, account.pw_name)):
            _make(folder, account.pw_uid, account.pw_gid, 0o755)
            made.append(folder)
    for group in groups:
        folder = root / GROUPS / group.gr_name
        # Members make environments there, each may remove their own only, and new ones belong to the group.
        _make(folder, -1, group.gr_gid, 0o3775)
        made.append(folder)
    data = {"root": str(root), "folders": [str(one) for one in made]}
    return answer(arguments, data, f"{root} is ready", *(f"  {one}" for one in made))


def _make(folder: Path, user: int, group: int, mode: int) -> None:
    folder.mkdir(exist_ok=True)
    try:
        os.chown(folder, user, group)
        os.chmod(folder, mode)
    except PermissionError:
        raise Wrong(
            f"init: no right to give {folder} to its owner; run `haienv init` as root, once for each user"
        ) from None


def _account(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(names.check("user", name))
    except KeyError:
        raise Missing(f"user: there is no Unix account {name!r} here; `getent passwd` lists them") from None


def _group(name: str) -> grp.struct_group:
    try:
        return grp.getgrnam(names.check("group", name))
    except KeyError:
        raise Missing(f"group: there is no Unix group {name!r} here; `getent group` lists them") from None
