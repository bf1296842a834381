"""Whom tools mean: they name users by the accounts of this machine."""

from __future__ import annotations

import contextlib
import os
import pwd

from hai_client.cli.shared.context import Context


def user_of(name: str, ctx: Context) -> str:
    """Return the platform's user for a name or number; this process's account is the caller's, whatever its name."""
    own = {str(os.getuid())}
    with contextlib.suppress(KeyError):
        own.add(pwd.getpwuid(os.getuid()).pw_name)
    return ctx.client.me().name if name in own else name
