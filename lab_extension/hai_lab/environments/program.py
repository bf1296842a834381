"""Runs `haienv` as the user of this server."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from hai_lab.problem import Problem, invalid, unavailable

#: Longest time of a command that only reads, seconds, and most bytes of its answer.
READ_S: Final = 30.0
#: Longest time of the freeze of a draft, seconds: tens of thousands of files may be on a slow file server.
FREEZE_S: Final = 300.0
MOST_BYTES: Final = 16 * 1024 * 1024
#: Variables of this server that no package's own build script is to have.
_SECRET: Final = ("HAI_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN", "JUPYTERHUB_COOKIE_SECRET", "JUPYTER_TOKEN")


def command() -> list[str]:
    """Return the words that start haienv. Raises Problem if it is not installed here."""
    # In an environment of haienv there is a part of it, without commands.
    if importlib.util.find_spec("haienv") is not None and importlib.util.find_spec("haienv.cli") is not None:
        # -P: no module is imported from the folder of the server.
        return [sys.executable, "-P", "-m", "haienv"]
    found = shutil.which("haienv")
    if found is None:
        raise unavailable(
            "haienv is not installed where this JupyterLab runs. Ask an administrator for: pip install 'hai-env[build]'"
        )
    return [found]


def variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables of a command."""
    kept = {name: value for name, value in environ.items() if name not in _SECRET}
    # Lines are shown as they come.
    return kept | {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}


async def start(arguments: Sequence[str], *, stderr: int) -> asyncio.subprocess.Process:
    """Start haienv in a process group of its own. Raises Problem."""
    words = [*command(), *arguments]
    try:
        return await asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=stderr,
            env=variables(), start_new_session=True, limit=MOST_BYTES,
        )  # fmt: skip
    except OSError as error:
        raise unavailable(f"haienv cannot be started: {error.strerror or error}.") from None


async def read(arguments: Sequence[str], *, patience_s: float = READ_S) -> Any:
    """Run a command, and return its JSON.

    Args:
        arguments: The verb and its arguments.
        patience_s: The longest time that it may take, seconds.

    Raises:
        Problem: The command says that it cannot be done, or it takes too long.
    """
    process = await start([*arguments, "--json"], stderr=asyncio.subprocess.PIPE)
    try:
        out, err = await asyncio.wait_for(process.communicate(), patience_s)
    except TimeoutError:
        raise unavailable(
            f"haienv {arguments[0]} has given no answer in {patience_s:.0f} s: does the folder of the environments"
            " answer?"
        ) from None
    finally:
        if process.returncode is None:
            end(process, signal.SIGKILL)
    if process.returncode != 0:
        raise refusal(err.decode(errors="replace"))
    try:
        return json.loads(out)
    except ValueError:
        raise unavailable(f"haienv {arguments[0]} has answered with something else than JSON.") from None


def refusal(text: str) -> Problem:
    """Return the problem for what haienv has said on stderr."""
    said = text.strip().removeprefix("haienv: ")
    return invalid(said[:2000] or "haienv has failed without saying why.")


def end(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Send a signal to a command and to all that it has started. Does nothing if it has ended."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
