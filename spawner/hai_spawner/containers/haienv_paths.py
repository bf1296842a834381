"""Tell a server where the environments of `haienv` are, and Jupyter where their kernels are.

The Hub need not have haienv installed: what is known of its layout here is that of `haienv.store.layout`
and `haienv.store.kernels`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from hai_client.linux.identity import Account
from hai_client.linux.rights import make_folder

#: Names that haienv accepts. Others have no environments, and a `:` would cut JUPYTER_PATH.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def haienv_name(name: str) -> bool:
    """Return whether haienv accepts a name of a user or a group: others have no environments."""
    return _NAME.fullmatch(name) is not None


def haienv_variables(root: str, user: str, groups: Collection[str]) -> dict[str, str]:
    """Return the variables by which a server finds environments: its own, its groups' and the base ones, in that order.

    Args:
        root: The folder of all environments as the server sees it; absolute.
        user: Name of the server's owner.
        groups: Names of the owner's groups at the Hub.
    """
    known = sorted(name for name in groups if _NAME.fullmatch(name))
    top = PurePosixPath(root)
    folders = [*(top / "groups" / name for name in known), top / "base"]
    if _NAME.fullmatch(user):
        folders.insert(0, top / "users" / user)
    return {
        "HAIENV_ROOT": root,
        "HAIENV_USER": user,
        "HAIENV_GROUPS": ",".join(known),
        "JUPYTER_PATH": os.pathsep.join(str(folder / ".jupyter") for folder in folders),
    }


def make_own_folder(root: str, user: str, account: Account) -> None:
    """Make the folder of a user's own environments, where only the user's account may write. The rest is the caller's.

    Args:
        root: The folder of all environments; made if needed.
        user: The user.
        account: The user's Unix account.

    Raises:
        OSError: A folder cannot be made.
    """
    if not _NAME.fullmatch(user):
        return
    own = Path(root) / "users" / user
    if make_folder(own):
        # Nobody but the caller may write above it, so it is still the new folder.
        os.chown(own, account.uid, account.gid, follow_symlinks=False)


def joined(before: str | None, path: str) -> str:
    """Return a path with the folders of another one behind its own."""
    return os.pathsep.join(filter(None, (before, path)))
