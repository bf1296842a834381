"""The verbs that use an environment: `run`, `shell` and `activate`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from haienv.cli.parser import add_name, add_verb
from haienv.cli.session import chosen, note
from haienv.shared.errors import Missing, Wrong
from haienv.store import manifest as manifests
from haienv.using import activation


def add_verbs(verbs: Any) -> None:
    """Add the verbs."""
    about = "run a command in an environment: haienv run vision -- python x.py"
    run = add_verb(verbs, "run", about, _run, json=False)
    add_name(run)
    run.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER)
    shell = add_verb(verbs, "shell", "start a shell in an environment", _shell, json=False)
    add_name(shell)
    activate = add_verb(verbs, "activate", "print lines for eval, as `source haienv NAME` does", _activate)
    add_name(activate)
    for verb in (run, shell, activate):
        verb.add_argument("--draft", action="store_true", help="use its draft, which `haienv draft` opens")


def _variables(arguments: argparse.Namespace) -> dict[str, str]:
    env, generation = chosen(arguments)
    path = os.environ.get("PATH", "")
    manifest = manifests.read(generation.manifest)
    if not arguments.draft:
        return activation.variables(generation.prefix, manifest, path)
    prefix = env.draft / "prefix"
    if not prefix.is_dir():
        raise Missing(f"draft: {env.name} has none; `haienv draft {env.name}` opens one")
    return activation.variables(prefix, manifest, path, draft=True)


def _run(arguments: argparse.Namespace) -> int:
    words = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not words:
        raise Wrong("command: none is given; write for example haienv run vision -- python train.py")
    env = activation.applied(os.environ, _variables(arguments))
    _become(words, env)
    return 127


def _shell(arguments: argparse.Namespace) -> int:
    added = _variables(arguments)
    shell = os.environ.get("SHELL") or "/bin/sh"
    note(f"{added[activation.ACTIVE]} is active; `exit` ends the shell")
    _become([shell], activation.applied(os.environ, added))
    return 127


def _activate(arguments: argparse.Namespace) -> int:
    added = _variables(arguments)
    if arguments.json:
        print(json.dumps({"variables": added}, indent=1))
    else:
        sys.stdout.write(activation.script(added))
    return 0


def _become(words: list[str], env: dict[str, str]) -> None:
    sys.stdout.flush()
    try:
        os.execvpe(words[0], words, env)  # noqa: S606  the user's own command
    except OSError as error:
        raise Wrong(f"command: {words[0]!r} cannot be run: {error.strerror}") from None
