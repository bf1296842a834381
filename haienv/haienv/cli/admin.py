"""The verb of admins: `init` makes the folders of users and groups, so that nobody can take another one's name.

On Kubernetes names have no Unix accounts. There an admin's job makes the root with `--makers`, the number of a group
that may make folders in `users` and `groups`. An init container that runs as the user, with that group, makes the
user's own (`--own-user`, `--own-group`); the user's container has not got the group.
"""

from __future__ import annotations

import argparse
import contextlib
import grp
import os
import pwd
from pathlib import Path
from typing import Any

from haienv.cli.parser import add_verb
from haienv.cli.session import answer
from haienv.shared.errors import Missing, Wrong
from haienv.shared.files import write_atomically
from haienv.shared.masking import quoted
from haienv.shared.unfollowed import held, set_mode, set_owner
from haienv.store import names
from haienv.store.layout import root_of
from haienv.store.names import BASE, GROUPS, USERS
from haienv.store.references import folder_for

#: The file of settings of all builds below the root (`haienv.store.site.FILE`, which needs Python 3.11).
_SETTINGS = "config.toml"


def add_verbs(verbs: Any) -> None:
    """Add the verb."""
    init = add_verb(verbs, "init", "make the folders of a root of environments (for admins)", _init, writes=True)
    init.add_argument("--user", metavar="USER", action="append", default=[], help="a Unix account; can be repeated")
    init.add_argument("--group", metavar="GROUP", action="append", default=[], help="a Unix group; can be repeated")
    init.add_argument(
        "--makers", metavar="GID", type=_number, help="the group that may make folders of users and groups"
    )
    init.add_argument("--service", metavar="UID", type=_number, help="the account of the scheduler service")
    init.add_argument("--builder", metavar="UID", type=_number, help="the account that builds base environments")
    init.add_argument("--config", metavar="FILE", type=Path, help="the settings of all builds, for ROOT/config.toml")
    init.add_argument("--own-user", metavar="NAME", help="the folders of this user, for the account that runs this")
    init.add_argument(
        "--own-group",
        metavar="NAME",
        action="append",
        default=[],
        help="the folder of a group of this user, for that account",
    )


def _init(arguments: argparse.Namespace) -> int:
    root = root_of(os.environ)
    if arguments.own_user or arguments.own_group:
        folders = _own(root, arguments.own_user, arguments.own_group)
        return answer(arguments, _data(root, folders), f"{root} is ready", *(f"  {one}" for one in folders))
    accounts = [_account(name) for name in arguments.user]
    groups = [_group(name) for name in arguments.group]
    settings = None if arguments.config is None else _settings(arguments.config)
    for folder in (root, *_common(root)):
        folder.mkdir(parents=True, exist_ok=True)
    _give(root, arguments)
    if settings is not None:
        write_atomically(root / _SETTINGS, settings)
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
    return answer(arguments, _data(root, made), f"{root} is ready", *(f"  {one}" for one in made))


def _give(root: Path, arguments: argparse.Namespace) -> None:
    """Give the common folders to those who work in them, by number."""
    if arguments.makers is not None:
        for folder in (root / GROUPS, root / USERS, folder_for(root, "x").parent):
            # Sticky: who may make a folder there can neither rename nor remove another one's.
            _make(folder, -1, arguments.makers, 0o1775)
    if arguments.service is not None:
        _make(folder_for(root, None), arguments.service, -1, 0o755)
    if arguments.builder is not None:
        _make(root / BASE, arguments.builder, -1, 0o755)


def _data(root: Path, folders: list[Path]) -> dict[str, Any]:
    return {"root": str(root), "folders": [str(one) for one in folders]}


def _common(root: Path) -> list[Path]:
    return [root / BASE, root / GROUPS, root / USERS, folder_for(root, None), folder_for(root, "x").parent]


def _settings(file: Path) -> str:
    """Return the text of a config.toml. Raises Wrong for one that no build could use."""
    import tomllib

    from haienv.store import config, site

    try:
        text = file.read_text(encoding="utf-8")
        site.checked(tomllib.loads(text))
    except (OSError, ValueError, Wrong) as error:
        raise Wrong(f"--config: {file}: {error}") from None
    config.read(file)
    return text


def _own(root: Path, user: str | None, groups: list[str]) -> list[Path]:
    """Make the folders of a user and of their groups as the account that runs this; those that are there stay."""
    wanted = [] if user is None else [root / USERS / names.check("user", user), folder_for(root, user)]
    made = [_of_ours(folder) for folder in wanted]
    for name in groups:
        folder = root / GROUPS / names.check("group", name)
        if _new(folder):
            with held(folder) as fd:
                with contextlib.suppress(PermissionError):
                    set_owner(fd, -1, _group_of_members(name))
                set_mode(fd, 0o3775)
        made.append(folder)
    return made


def _of_ours(folder: Path) -> Path:
    new = _new(folder)
    with held(folder) as fd:
        if new:
            set_mode(fd, 0o755)
        owner = os.fstat(fd).st_uid
    if owner != os.geteuid():
        raise Wrong(
            f"init: {folder} belongs to the account {owner}, and this one is {os.geteuid()}: another user had this"
            " name, or users' containers run as another account now; an admin gives it to the right one (chown -R)"
        )
    return folder


def _new(folder: Path) -> bool:
    """Make a folder; return False if it is there. Raises Wrong."""
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    except FileNotFoundError:
        raise Missing(f"init: there is no {folder.parent}; an admin runs `haienv init --makers GID` first") from None
    except OSError as error:
        raise Wrong(f"init: {folder} cannot be made: {error.strerror}; an admin should look at it") from None
    return True


def _group_of_members(name: str) -> int:
    """Return the number of the group that the containers of all members have, and this process besides that of makers.

    Where users have accounts of their own, it is the Unix group of that name. Where all containers have one account, it
    is that account's main group, the only one.
    """
    others = sorted(set(os.getgroups()) - {os.getegid()})
    with contextlib.suppress(KeyError):
        named = grp.getgrnam(name).gr_gid
        if named in others:
            return named
    return others[0] if len(others) == 1 else os.getegid()


def _number(text: str) -> int:
    if not text.isdigit() or int(text) >= 2**31:
        raise argparse.ArgumentTypeError(f"{quoted(text, 20)} is no number of an account or group, such as 1000")
    return int(text)


def _make(folder: Path, user: int, group: int, mode: int) -> None:
    folder.mkdir(exist_ok=True)
    try:
        with held(folder) as fd:
            set_owner(fd, user, group)
            set_mode(fd, mode)
    except NotADirectoryError:
        raise Wrong(f"init: {folder} is no folder, or a link to one; remove it, and look who made it") from None
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
