"""The settings of builds of environments, checked."""

from __future__ import annotations

import re
from typing import Final

from hai_scheduler.core.workspace.builds import BuildSettings

_ACCOUNT: Final = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_UID: Final = re.compile(r"[1-9][0-9]{0,9}")


def builder_of(account: str, image: str, group: str, *, unix_users: bool, kubernetes: bool) -> BuildSettings:
    """Return how builds run.

    Args:
        account: The account of builds for groups and base; empty: that of the user's other tasks.
        image: The image of all builds; empty: the one of the user's other tasks.
        group: The node group that builds prefer.
        unix_users: Whether tasks run as Unix accounts of this machine.
        kubernetes: Whether ranks are pods.

    Raises:
        ValueError: A setting is wrong; the message names it, its value and the remedy.
    """
    said = f"HaiScheduler.build_account is {account!r:.60}"
    if account and kubernetes and not _UID.fullmatch(account):
        raise ValueError(f"{said}: on Kubernetes write the number of a user, for example 1001, but not 0")
    if account and unix_users and (not _ACCOUNT.fullmatch(account) or account == "root"):
        raise ValueError(f"{said}: write the name of a Unix account, for example hai-build, but not root's")
    if account and not (kubernetes or unix_users):
        raise ValueError(f"{said}: here all tasks run as one account; leave it out, or start with --unix-users")
    if image and not kubernetes:
        raise ValueError(f"HaiScheduler.build_image is {image!r:.60}: it is for Kubernetes; leave it out")
    return BuildSettings(account=account, image=image or None, group=group)
