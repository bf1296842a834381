"""`hf_env.set_env("202111")`: the first line of scripts for the original."""

from __future__ import annotations

import sys

_said = False


def set_env(name: str, *_: object, **__: object) -> None:
    """Print, once, which Python runs this; nothing is changed. A task of HAI gets its environment when it is submitted.

    The original put the packages of the named environment first on the import path of the running program.
    """
    global _said
    if not _said:
        _said = True
        print(
            f"hf_env: set_env({name!r}) changes nothing; this is the Python of {sys.prefix}. "
            "A task has the environment that it was submitted from, or with (hai submit --help)",
            file=sys.stderr,
            flush=True,
        )
