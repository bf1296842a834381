"""`--no-freeze`, and what a submission does with the draft of an environment: its changes become a generation first.

A task is pinned to a generation, and a draft is none: it may change under the task. So the command `haienv` freezes it,
as the user. It is found beside this program or on PATH; where there is none, there are no drafts either.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hai_client import settings
from hai_client.cli.shared.parser import option
from hai_client.errors import Invalid
from hai_client.pythons import VENV

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hai_client.cli.shared.context import Context

#: The folder of all environments, and the original's variable for it.
_ROOTS = ("HAIENV_ROOT", "HAIENV_PATH")
#: What takes longer is announced, seconds.
_SOON_S = 2.0
#: Nothing is imported from the folder that the user is in.
_START = "import sys; sys.path[:] = [p for p in sys.path if p]; from haienv.cli import main; sys.exit(main())"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    option(parser, "--no-freeze", "use the environment's current generation, without your draft (the draft is frozen)")


def settle(args: argparse.Namespace, ctx: Context, env: dict[str, str], environment: str | None) -> str | None:
    """Freeze the draft of the environment that a task is to run in, if it has changes.

    Args:
        args: The options.
        ctx: The command's context, with its output for messages.
        env: The task's variables; the folder of a draft is taken out of them.
        environment: The name of the environment; None: none is named.

    Returns:
        The name of the environment that the task is to run in: a generation, where one was made.

    Raises:
        Invalid: The draft cannot be frozen; the message has the reason of haienv.
    """
    name, root = environment, _root(os.environ)
    if name is None:
        active = _of_draft(env.get(VENV, ""))
        if active is None:
            return None
        name, root = active
    elif "@" in name or name.startswith("images/") or root is None:
        return environment
    command = _command()
    if command is None or root is None:
        return environment
    only_look = bool(getattr(args, "no_freeze", False) or getattr(args, "dry_run", False))
    began = time.monotonic()
    found = _freeze(ctx, command, root, name, only_look=only_look)
    full = found.get("environment")
    if environment is None:
        if not isinstance(full, str):
            return None
        # The draft itself: the task takes the generation that has what is in it.
        env.pop(VENV, None)
        environment = full
    return _tell(args, ctx, found, environment, time.monotonic() - began)


def _tell(args: argparse.Namespace, ctx: Context, found: Mapping[str, Any], environment: str, took: float) -> str:
    name = environment.rpartition("/")[2]
    if found.get("draft") and not found.get("mine"):
        ctx.out.note(f"{environment} has an open draft of another user, which is not in the task")
    if not found.get("changed"):
        return environment
    number = found.get("generation")
    if number is not None:
        ctx.out.note(f"froze the draft of {name} as {name}@{number} ({took:.0f} s)")
        # With --env-latest the name counts at each start, and the new generation is current now.
        return environment if getattr(args, "env_latest", False) else f"{found['environment']}@{number}"
    if getattr(args, "no_freeze", False):
        ctx.out.note(f"the draft of {name} is not in the task (--no-freeze)")
    else:
        ctx.out.note(f"the draft of {name} has changes: a submission freezes it first")
    return environment


def _root(environ: Mapping[str, str]) -> str | None:
    """Return the folder of all environments, as haienv finds it; None: there is none."""
    for variable in _ROOTS:
        if environ.get(variable):
            return environ[variable]
    if root := settings.folder_here("haienv_root", environ):
        return root
    data = environ.get("XDG_DATA_HOME") or os.path.join(environ.get("HOME", "/"), ".local", "share")  # noqa: PTH118
    folder = Path(data) / "haienv"
    return str(folder) if folder.is_dir() else None


def with_place(error: Invalid, environment: str | None) -> Invalid:
    """Return the error; if it is that there is no such environment, with the place where this machine has one."""
    root, name = _root(os.environ), (environment or "").partition("@")[0]
    if root is None or not name or f"there is no {name!r}" not in error.message or root in error.message:
        return error
    # A bare name is a user's own; what the user is called in this folder is for haienv to know.
    place = next(Path(root).glob(f"{name if '/' in name else f'users/*/{name}'}/current"), None)
    if place is None:
        return error
    return Invalid(
        f"{error.message}; the one in {place.parent} is not where the platform has environments: `hai environments"
        f" build create {name} ...` makes one there, and so does `haienv create` with HAIENV_ROOT set to that folder",
        code=error.code,
        status=error.status,
        fields=error.fields,
    )


def _of_draft(folder: str) -> tuple[str, str] | None:
    """Return the environment whose draft a folder is, and the folder of all environments; None: it is of none."""
    place = Path(folder)
    if place.parts[-2:] != ("draft", "prefix") or not (place.parent / "from").is_file():
        return None
    depth = 3 if place.parts[-5:-4] in (("users",), ("groups",)) else 2
    named = place.parts[-2 - depth : -2]
    if depth == 2 and named[:1] != ("base",):
        return None
    return "/".join(named), str(Path(*place.parts[: -2 - depth]))


def _command() -> list[str] | None:
    """Return the words that start haienv; None: it is not here. An environment has a part of it, without commands."""
    if find_spec("haienv") is not None and find_spec("haienv.cli") is not None:
        return [sys.executable, "-c", _START]
    found = shutil.which("haienv")
    return None if found is None else [found]


def _freeze(ctx: Context, command: list[str], root: str, name: str, *, only_look: bool) -> dict[str, Any]:
    words = [*command, "freeze", name, "--if-draft", "--json", *(["--look"] if only_look else [])]
    try:
        process = subprocess.Popen(
            words, env={**os.environ, _ROOTS[0]: root}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, universal_newlines=True,
        )  # fmt: skip
    except OSError as error:
        raise Invalid(f"environment: {words[0]} cannot be started for the draft of {name}: {error}") from None
    try:
        try:
            out, err = process.communicate(timeout=_SOON_S)
        except subprocess.TimeoutExpired:
            doing = "looking at" if only_look else "freezing"
            ctx.out.note(f"{doing} the draft of {name}, if there is one")
            out, err = process.communicate()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if process.returncode != 0:
        reason = err.strip().replace("haienv: ", "")
        if reason.startswith("environment:"):
            # It is about the name or whose it is, and holds without the draft, too.
            raise Invalid(reason)
        if not reason.startswith(("package:", "draft:")):
            reason = f"environment: the draft of {name} could not be frozen: {reason}"
        raise Invalid(reason if only_look else f"{reason}; or submit without the draft: --no-freeze")
    try:
        found = json.loads(out)
    except ValueError:
        found = {}
    return found if isinstance(found, dict) else {}
