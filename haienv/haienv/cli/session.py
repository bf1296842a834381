"""What the verbs share: who asks, where environments are, and how progress is shown."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Mapping

from haienv.store import lockfile, names
from haienv.store.layout import EnvFolder, Generation, root_of
from haienv.store.people import caller_of
from haienv.store.registry import Registry


def registry() -> Registry:
    """Return all environments that this process can see."""
    return Registry(root_of(os.environ), caller_of(os.environ))


def own(arguments: argparse.Namespace) -> EnvFolder:
    """Return the environment that a verb is to change."""
    return registry().own(names.parse(arguments.name, user=arguments.user))


def chosen(arguments: argparse.Namespace) -> tuple[EnvFolder, Generation]:
    """Return the environment and the generation that a verb is to read."""
    return registry().generation(names.parse(arguments.name, user=arguments.user))


def answer(arguments: argparse.Namespace, data: Mapping[str, Any], *lines: str) -> int:
    """Print what a verb has done: JSON if it is asked for, else sentences. Return the exit status of success."""
    if arguments.json:
        print(json.dumps(data, indent=1))
    else:
        for line in lines:
            print(line)
    return 0


def note(text: str) -> None:
    """Show a line of progress, on stderr."""
    print(f"haienv: {text}", file=sys.stderr)


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return the packages that differ, a line each: `+ timm 1.0.20`, `- six 1.17`, `~ numpy 2.3 -> 2.4`."""
    return words_of(lockfile.diff(before, after))


def words_of(found: list[lockfile.Change]) -> list[str]:
    """Return changes as lines."""
    lines = []
    for one in found:
        if one.before is None:
            lines.append(f"+ {one.package} {one.after}")
        elif one.after is None:
            lines.append(f"- {one.package} {one.before}")
        else:
            lines.append(f"~ {one.package} {one.before} -> {one.after}")
    return lines
