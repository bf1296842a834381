"""`-e`, `--env` and `--environment`: a task's variables, and the environment that it runs in."""

from __future__ import annotations

import argparse

from hai_client.backports import dataclass
from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.parser import option
from hai_client.errors import Invalid


@dataclass(frozen=True, slots=True)
class _Environment:
    """The name of an environment, as `--env NAME` gives it."""

    name: str


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options; `read` gives what they say."""
    option(
        parser,
        "-e NAME=VALUE ...",
        "set a variable of the task; NAME alone takes your own value; can be repeated",
        words_.variable,
        dest="env",
    )
    option(
        parser,
        "--environment ENVIRONMENT",
        "an environment of haienv, such as vision, vision@3 or groups/cv/vision, whose packages of now the task"
        " keeps over all its turns; or an image (your default); `hai environments` lists both",
    )
    option(parser, "--env-latest", "use the environment's newest generation at each start, instead of the current one")
    option(
        parser,
        "--env NAME|NAME=VALUE",
        "--env NAME is --environment NAME, --env NAME=VALUE is -e NAME=VALUE",
        _either,
        dest="env",
        action="append",
    )
    # The original's name of `-e`.
    parser.add_argument("--environments", dest="env", action="append", type=words_.variable, help=argparse.SUPPRESS)


def _either(text: str) -> tuple[str, str] | _Environment:
    if not text.strip():
        raise Invalid(
            f"env: {text!r} is empty: give an environment (`hai environments` lists them) or NAME=VALUE, or leave"
            " --env out"
        )
    return words_.variable(text) if "=" in text else _Environment(text)


def read(args: argparse.Namespace) -> tuple[dict[str, str], str | None]:
    """Return the variables, and the name of the environment or None.

    Args:
        args: The options.

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
        else:
            variables[given[0]] = given[1]
    return variables, environment
