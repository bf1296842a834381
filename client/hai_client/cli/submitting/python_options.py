"""The options `--venv` and `--no-venv`, which choose the Python of a task."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from hai_client import own_python
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import clean
from hai_client.cli.shared.parser import option
from hai_client.cli.tasks import view
from hai_client.errors import Invalid
from hai_client.pythons import VENV, programs
from hai_client.wire.schema import Haienv

_REMEDY = "--no-venv for the platform's"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add both options; only one of them may be given."""
    either = parser.add_mutually_exclusive_group()
    option(
        either,
        "--venv FOLDER",
        "run with the Python of this venv or conda environment (the activated one, unless --environment is given)",
    )
    option(either, "--no-venv", "run with the platform's Python, whatever is activated")


def variables(
    args: argparse.Namespace, ctx: Context, given: Mapping[str, str], environment: str | None
) -> dict[str, str]:
    """Return the environment variables to add to the task.

    A folder named by `--venv` comes first. An activated venv is ignored if the user has set `HAI_VENV` or chosen a
    named environment of the platform.

    Args:
        args: The options.
        ctx: The command's context, with its output for messages.
        given: The task's variables.
        environment: The platform's environment that the user chose; None: none was chosen.

    Raises:
        Invalid: The folder of `--venv` has no Python.
    """
    if args.venv is not None:
        return own_python.variables(_named(args.venv, ctx))
    if args.no_venv or VENV in given or environment is not None:
        return {}
    folder = own_python.noticed()
    return {} if folder is None else own_python.variables(folder)


def _named(text: str, ctx: Context) -> str:
    if not text:
        raise Invalid("venv: no folder is given; write for example --venv ~/torch, or --no-venv")
    folder = os.path.normpath(Path.cwd() / Path(text).expanduser())
    if (Path(programs(folder)) / "python").exists():
        return folder
    if Path(folder).exists() or not Path(text).expanduser().is_absolute():
        raise Invalid(f"venv: there is no Python in {programs(folder)}; give the folder of a venv or conda environment")
    ctx.out.note(f"there is no {folder} on this machine; it is looked for on the nodes")
    return folder


def tell(ctx: Context, env: Mapping[str, str], haienv: Haienv | None) -> None:
    """Add to the answer to a submission which Python of the user's the task runs with, if it does.

    Args:
        ctx: The command's context.
        env: The task's variables.
        haienv: The environment of haienv that the service has found.
    """
    if haienv is not None:
        ctx.out.line(f"  environment: {clean(view.environment(haienv))}")
        return
    folder = env.get(VENV)
    if folder:
        ctx.out.line(f"  with the Python of {clean(folder)}; {ctx.out.style(_REMEDY, 'dim')}")
