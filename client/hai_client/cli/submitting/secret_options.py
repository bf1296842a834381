"""`--secret` and `--secret-file`: the secrets that a task gets, by their names."""

from __future__ import annotations

import argparse
import os

from hai_client.cli.shared.parser import option
from hai_client.errors import Invalid


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options; `read` gives what they say."""
    option(
        parser,
        "--secret NAME|VARIABLE=NAME ...",
        "a secret of yours (`hai secret`) as a variable of the task; can be repeated",
    )
    option(
        parser,
        "--secret-file PATH=NAME ...",
        "a secret of yours as a file in memory, with a link at PATH, such as ~/.netrc=netrc; can be repeated",
    )


def read(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the secrets of the options, as the service reads them. Raises Invalid."""
    return (*map(_variable, args.secret), *map(_file, args.secret_file))


def _variable(text: str) -> str:
    if text.startswith(("/", "~")):
        raise Invalid(f"secret: {text!r} names a file; give it by --secret-file")
    return text


def _file(text: str) -> str:
    """Return a file in the service's form: a path below the own home folder is below that of the task."""
    path, equals, name = text.rpartition("=")
    if not equals or not path.startswith(("/", "~/")):
        raise Invalid(f"secret-file: {text!r} is none; write PATH=NAME with a path that begins with / or ~/")
    # The shell has written the home folder in the place of ~, and the task may have another one.
    home = os.environ.get("HOME", "").rstrip("/")
    if home and path.startswith(f"{home}/"):
        path = f"~{path[len(home) :]}"
    return f"{path}={name}"
