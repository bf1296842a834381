"""`-e`, `--env` and `--environment`: a task's variables, and the environment that it runs in."""

from __future__ import annotations

import argparse
import os

from hai_client.backports import dataclass
from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.errors import Invalid


@dataclass(frozen=True, slots=True)
class _Environment:
    """The name of an environment, as `--env NAME` gives it."""

    name: str


@dataclass(frozen=True, slots=True)
class _FormerVariable:
    """A variable that `--env NAME` names, as in earlier releases, with its value here."""

    name: str
    value: str


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options; `read` gives what they say."""
    parser.add_argument(
        "-e",
        dest="env",
        action="append",
        type=words_.variable,
        default=[],
        metavar="NAME=VALUE",
        help="set a variable of the task; NAME alone takes your own value; can be repeated",
    )
    parser.add_argument(
        "--environment",
        metavar="ENVIRONMENT",
        help="an environment of haienv, such as vision, vision@3 or groups/cv/vision, whose packages of now the task"
        " keeps over all its turns; or an image (your default); `hai environments` lists both",
    )
    parser.add_argument(
        "--env-latest",
        action="store_true",
        help="use the environment's newest generation at each start, instead of the current one",
    )
    parser.add_argument(
        "--env",
        dest="env",
        action="append",
        type=_either,
        metavar="NAME|NAME=VALUE",
        help="--env NAME is --environment NAME, --env NAME=VALUE is -e NAME=VALUE",
    )
    # The original's name of `-e`.
    parser.add_argument("--environments", dest="env", action="append", type=words_.variable, help=argparse.SUPPRESS)


def _either(text: str) -> tuple[str, str] | _Environment | _FormerVariable:
    if not text.strip():
        raise Invalid(
            f"env: {text!r} is empty: give an environment (`hai environments` lists them) or NAME=VALUE, or leave"
            " --env out"
        )
    if "=" in text:
        return words_.variable(text)
    # Docker's `--env NAME` takes the value from here, as `hai` did before environments could be meant.
    return _FormerVariable(text, os.environ[text]) if text in os.environ else _Environment(text)


def read(args: argparse.Namespace, ctx: Context) -> tuple[dict[str, str], str | None]:
    """Return the variables, and the name of the environment or None.

    Args:
        args: The options.
        ctx: The command's context, with its output for messages.

    Raises:
        Invalid: Two environments are named.
    """
    variables: dict[str, str] = {}
    environment: str | None = args.environment
    for given in args.env:
        if isinstance(given, _Environment):
            if environment not in (None, given.name):
                raise Invalid(f"env: {given.name} and {environment} are two environments; name one")
            environment = given.name
        elif isinstance(given, _FormerVariable):
            ctx.out.note(
                f"--env {given.name} is taken as the variable that is set here; write -e {given.name}: "
                "the next release takes it as the name of an environment"
            )
            variables[given.name] = given.value
        else:
            variables[given[0]] = given[1]
    return variables, environment
