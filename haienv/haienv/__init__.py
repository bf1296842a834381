"""Python environments that are built, shared, and pinned for as long as a task lives.

`import haienv; haienv.set_env("vision")` as the first lines of a script runs the rest of it in that environment.
"""

from __future__ import annotations

import os
import sys

__all__ = ["set_env"]
#: Set for the process that `set_env` has started, so that it does not start another one.
_SET = "HAIENV_SET"


def set_env(name: str | None = None, owner: str | None = None) -> None:
    """Run this script in an environment: replaces the process, unless it uses the environment already.

    Args:
        name: The name of the environment, such as `vision`, `vision@3` or `groups/cv/vision`; without one, that of
            the variables HF_ENV_NAME and HF_ENV_OWNER, as the original's.
        owner: The user whose environment it is (default: one's own, else the groups', else a base one).

    Raises:
        haienv.shared.errors.Missing: There is no such environment.
        haienv.shared.errors.Wrong: Packages of this Python are imported already that the environment has
            in another place.
    """
    from haienv.using.entering import enter

    enter(
        name, owner, already=_SET, argv=list(getattr(sys, "orig_argv", [sys.executable, *sys.argv])), environ=os.environ
    )
