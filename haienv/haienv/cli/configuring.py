"""The verb `config`: settings of builds, and the original's variables of one environment (`-n NAME`)."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from haienv.building.builder import Builder
from haienv.cli.building import base_of_spec
from haienv.cli.outcome import built
from haienv.cli.parser import Parser, add_verb
from haienv.cli.session import answer, note, registry
from haienv.shared.errors import Missing, Wrong
from haienv.store import config, names
from haienv.store import spec as specs
from haienv.store.generations import manifest_or_none
from haienv.store.layout import root_of

#: The original's keys of one environment that are answered.
VARIABLES = "extra-environment"
_FOLDERS = ("extra-search-dir", "extra-search-bin-dir")


def add_verbs(verbs: Any) -> None:
    """Add the verb."""
    listed = "; ".join(f"{name}: {about}" for name, (about, _) in config.SETTINGS.items())
    verb = add_verb(verbs, "config", "show and change where packages come from", _show, json=False)
    verb.epilog = f"Settings: {listed}."
    actions = verb.add_subparsers(metavar="ACTION", required=True, parser_class=Parser)
    _action(actions, "show", "show the settings, and where each is from", _show)
    for name, about, run in (
        ("set", "set a setting", _set),
        ("append", "add a value to a setting that has several", _append),
    ):
        one = _action(actions, name, about, run)
        one.add_argument("setting", metavar="SETTING", nargs="?")
        one.add_argument("value", metavar="VALUE", nargs="?")
        one.add_argument("-v", "--value", dest="given", help=argparse.SUPPRESS)
    one = _action(actions, "clear", "remove a setting", _clear)
    one.add_argument("setting", metavar="SETTING", nargs="?")


def _action(actions: Any, name: str, about: str, run: Any) -> Parser:
    one = add_verb(actions, name, about, run, writes=True)
    one.add_argument("--root", action="store_true", help="the settings of all who build here; for admins")
    # The original's options, for the variables of one environment.
    one.add_argument(
        "-n", "--haienv_name", metavar="NAME", dest="env", help="an environment, whose variables are meant"
    )
    one.add_argument("-u", "--user", help=argparse.SUPPRESS)
    one.add_argument("-k", "--key", help=argparse.SUPPRESS)
    return one


def _file(arguments: argparse.Namespace) -> Path:
    return config.root_file(root_of(os.environ)) if arguments.root else config.own_file(os.environ)


def _show(arguments: argparse.Namespace) -> int:
    if arguments.env:
        return _show_variables(arguments)
    root = root_of(os.environ)
    paths = [config.own_file(os.environ), config.root_file(root)]
    files = {str(path): config.read(path) for path in paths}
    values = config.merged(root, os.environ)
    lines = []
    for name, (about, _) in config.SETTINGS.items():
        source = next((path for path, known in files.items() if name in known), None)
        text = f"{', '.join(values[name])}    ({source})" if source else f"-    ({about})"
        lines.append(f"{name:<14} {text}")
    data = {"settings": {name: list(one) for name, one in values.items()}, "files": [str(one) for one in paths]}
    return answer(arguments, data, *lines)


def _set(arguments: argparse.Namespace) -> int:
    name, value = _given(arguments)
    return _write(arguments, name, (value,))


def _append(arguments: argparse.Namespace) -> int:
    if arguments.env:
        variable, value = specs.check_variable(_original(arguments, arguments.given or arguments.value or ""))
        return _change_variables(arguments, lambda known: {**known, variable: value})
    name, value = _given(arguments)
    if not config.SETTINGS[name][1]:
        raise Wrong(f"{name}: has one value only; write `haienv config set {name} VALUE`")
    known = config.read(_file(arguments)).get(name, ())
    return _write(arguments, name, (*(one for one in known if one != value), value))


def _clear(arguments: argparse.Namespace) -> int:
    if arguments.env:
        _original(arguments, "")
        return _change_variables(arguments, lambda _: {})
    if not arguments.setting or arguments.setting not in config.SETTINGS:
        raise Wrong(f"config: {arguments.setting!r} is not known; known are {', '.join(config.SETTINGS)}")
    return _write(arguments, arguments.setting, ())


def _given(arguments: argparse.Namespace) -> tuple[str, str]:
    if arguments.env:
        raise Wrong("config: variables of an environment are changed by `append` and `clear`")
    if not arguments.setting or arguments.value is None:
        raise Wrong(
            "config: a setting and a value are needed: haienv config append indexes https://pypi.example.org/simple"
        )
    return arguments.setting, config.check(arguments.setting, arguments.value)


def _write(arguments: argparse.Namespace, name: str, values: tuple[str, ...]) -> int:
    path = _file(arguments)
    known = {**config.read(path), name: values}
    config.write(path, known)
    said = f"{name} is {', '.join(values)}" if values else f"{name} is not set"
    return answer(arguments, {"setting": name, "values": list(values), "file": str(path)}, f"{said} ({path})")


def _original(arguments: argparse.Namespace, value: str) -> str:
    """Return the value for a key of the original. Raises Wrong."""
    if arguments.key in _FOLDERS:
        raise Wrong(
            f"key: {arguments.key} would be a part of the environment that can change under a task; install what is"
            " there as a"
            " package, or set PYTHONPATH or PATH where you start your program"
        )
    if arguments.key != VARIABLES:
        raise Wrong(f"key: {arguments.key!r} is not known; write -k {VARIABLES}")
    return value


def _show_variables(arguments: argparse.Namespace) -> int:
    env = registry().find(names.parse(arguments.env, user=arguments.user))
    manifest = manifest_or_none(env)
    variables = dict(manifest.variables) if manifest else {}
    data = {"environment": str(env.name), "path": str(env.folder), "variables": variables}
    return answer(arguments, data, f"{env.name}: {env.folder}", *(f"  {k}={v}" for k, v in variables.items()))


def _change_variables(arguments: argparse.Namespace, change: Any) -> int:
    env = registry().own(names.parse(arguments.env))
    before = manifest_or_none(env)
    if before is None:
        raise Missing(f"environment: there is no {env.name}; `haienv create {arguments.env}` makes it")

    def changed(known: specs.Spec | None) -> specs.Spec:
        if known is None:
            raise Missing(f"environment: {env.name} is gone")
        return replace(known, variables=change(dict(known.variables)))

    base = base_of_spec(env)
    made = Builder(environ=os.environ, show=note).build(env, changed, base=base, what=f"config {env.name}")
    return built(arguments, env, made, before)
