"""The verbs that build a generation: `create`, `install`, `uninstall`, `rebuild` and `clone`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from haienv.building.builder import Builder
from haienv.cli.outcome import built
from haienv.cli.parser import add_name, add_verb, filled
from haienv.cli.session import note, own, registry
from haienv.shared.addresses import checked_index
from haienv.shared.errors import Missing, Wrong
from haienv.sources.source import Source, beside, joined
from haienv.store import conda_spec, lockfile, names
from haienv.store import manifest as manifests
from haienv.store import spec as specs
from haienv.store.generations import manifest_or_none
from haienv.store.layout import EnvFolder, Generation
from haienv.store.spec import Spec


def add_verbs(verbs: Any) -> None:
    """Add the verbs."""
    create = add_verb(verbs, "create", "make an environment", _create, writes=True)
    add_name(create)
    create.add_argument(
        "--extend", metavar="BASE", type=filled, help="have all packages of this environment too, at its versions"
    )
    # The original's option: there, extending was the rule.
    create.add_argument("--no_extend", "--no-extend", action="store_true", help="extend none (the default)")
    create.add_argument(
        "-p", "--python", "--py", metavar="VERSION", type=filled, help="version, such as 3.11, or the path of a Python"
    )
    create.add_argument("--extra-search-dir", action="append", default=[], help=argparse.SUPPRESS)
    create.add_argument("--extra-search-bin-dir", action="append", default=[], help=argparse.SUPPRESS)
    create.add_argument(
        "--variable", "--extra-environment", metavar="NAME=VALUE", action="append", default=[],
        help="set a variable for shells, runs and tasks of the environment; can be repeated",
    )  # fmt: skip
    create.add_argument("--index", metavar="URL", action="append", default=[], help="a package index; can be repeated")
    create.add_argument("--no-kernel", action="store_true", help="Jupyter does not offer it as a kernel")
    create.add_argument("--description", metavar="TEXT", default="", help="a note for those who read the list")
    _add_requirements(create)
    install = add_verb(verbs, "install", "add packages, or change their versions", _install, writes=True)
    add_name(install)
    _add_requirements(install)
    uninstall = add_verb(verbs, "uninstall", "take packages away that were asked for", _uninstall, writes=True)
    add_name(uninstall)
    uninstall.add_argument("packages", metavar="PACKAGE", nargs="+")
    rebuild = add_verb(verbs, "rebuild", "resolve and install again, by its env.toml", _rebuild, writes=True)
    add_name(rebuild)
    clone = add_verb(
        verbs, "clone", "make an environment of your own with the packages of another one", _clone, writes=True
    )
    clone.add_argument("source", metavar="SOURCE", help="the environment to clone, such as groups/cv/vision@3")
    add_name(clone, "the new environment")
    for verb in (create, install, uninstall, rebuild, clone):
        verb.add_argument("--no-wait", action="store_true", help="fail at once if another process builds it")


def _add_requirements(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "requirements", metavar="REQUIREMENT", nargs="*", help="package with a version, such as timm==1.0.20"
    )
    verb.add_argument(
        "-r", "--requirement", "--from", metavar="FILE", type=filled, action="append", default=[],
        help="requirements.txt, pyproject.toml, uv.lock, pylock.toml or environment.yml; can be repeated",
    )  # fmt: skip
    verb.add_argument("--extra", metavar="NAME", action="append", default=[], help="an extra of the project of FILE")


def _source(arguments: argparse.Namespace, env: EnvFolder) -> Source:
    """Return what the command line and its files ask for. Raises Wrong."""
    words = list(arguments.requirements)
    if "-e" in words:
        specs.check_requirement(" ".join(words[words.index("-e") :]))
    given = Source(requirements=tuple(specs.check_requirement(one) for one in words))
    # Only a uv.lock needs uv.
    if not arguments.requirement and not arguments.extra:
        return given
    # Imported here: what is given by name alone should not wait for the forms of all kinds of files.
    from haienv.cli.locks import uv_of
    from haienv.sources.reading import read_all

    paths = [beside(Path(), name, "-r") for name in arguments.requirement]
    return joined([given, read_all(paths, arguments.extra, lambda words, doing: uv_of(env).run(words, doing=doing))])


def _build(
    arguments: argparse.Namespace, env: EnvFolder, change: Callable[[Spec | None], Spec], base: Generation | None
) -> int:
    before = manifest_or_none(env)
    builder = Builder(environ=os.environ, show=note, wait_s=0.0 if arguments.no_wait else None)
    made = builder.build(env, change, base=base, what=f"{arguments.verb} {env.name}")
    return built(arguments, env, made, before)


def _create(arguments: argparse.Namespace) -> int:
    env = own(arguments)
    _refuse_originals(arguments)
    if arguments.extend and arguments.no_extend:
        raise Wrong("extend: --extend and --no-extend exclude each other: give one of them")
    base = extends = None
    if arguments.extend:
        base_env, base = _base_of(env, arguments.extend)
        extends = str(base_env.name)
    source = _source(arguments, env)
    indexes = tuple(checked_index(one) for one in arguments.index)
    variables = dict(specs.check_variable(one) for one in arguments.variable)

    def change(_: Spec | None) -> Spec:
        if env.current() is not None:
            raise Wrong(
                f"environment: {env.name} exists; `haienv install` adds packages to it, `haienv remove` removes it"
            )
        return Spec(
            python=arguments.python,
            requires_python=source.python,
            extends=extends,
            requirements=source.requirements,
            constraints=source.constraints,
            indexes=tuple(dict.fromkeys([*indexes, *source.indexes])),
            conda=source.conda,
            channels=source.channels,
            variables={**source.variables, **variables},
            description=arguments.description,
            kernel=not arguments.no_kernel,
        )

    return _build(arguments, env, change, base)


def _refuse_originals(arguments: argparse.Namespace) -> None:
    """Answer the options of the original for folders beside an environment, which no generation could hold."""
    for option, given in (
        ("--extra-search-dir", arguments.extra_search_dir),
        ("--extra-search-bin-dir", arguments.extra_search_bin_dir),
    ):
        if given:
            raise Wrong(
                f"{option}: {given[0]!r} would be a part of the environment that can change under a task; install"
                " what is"
                " there as a package, or set PYTHONPATH or PATH where you start your program"
            )


def _base_of(env: EnvFolder, extends: str) -> tuple[EnvFolder, Generation]:
    """Return the environment to extend, and its generation. Raises Missing, Wrong."""
    base_env, base = registry().generation(names.parse(extends))
    _refuse_cycle(env, base_env)
    return base_env, base


def _refuse_cycle(env: EnvFolder, base: EnvFolder) -> None:
    """Raise Wrong if the base extends the environment, by itself or through others."""
    seen = [str(env.name)]
    found: EnvFolder | None = base
    while found is not None:
        if str(found.name) in seen:
            raise Wrong(f"extend: {' extends '.join([*seen, str(found.name)])}: a cycle; extend another environment")
        seen.append(str(found.name))
        try:
            further = specs.read(found.spec).extends
        except FileNotFoundError:
            return
        found = registry().find(names.parse(further)) if further else None


def _install(arguments: argparse.Namespace) -> int:
    added = _source(arguments, own(arguments))
    if not (added.requirements or added.conda):
        raise Wrong("requirement: none is given; write for example haienv install vision timm==1.0.20")
    return _change(arguments, lambda spec: _with(spec, added))


def _with(spec: Spec, added: Source) -> Spec:
    """Return a spec with what a further source asks for. Raises Wrong."""
    if added.conda and not spec.conda:
        raise Wrong(
            "conda: the environment has no packages of conda, so none can be added; make another one with"
            " `haienv create NAME -r environment.yml`"
        )
    pythons = [one for one in (spec.requires_python, added.python) if one]
    return replace(
        spec.adding(added.requirements),
        requires_python=",".join(dict.fromkeys(pythons)) or None,
        constraints=specs.merged(spec.constraints, added.constraints),
        indexes=tuple(dict.fromkeys([*spec.indexes, *added.indexes])),
        conda=specs.merged(spec.conda, added.conda, key=conda_spec.name_of),
        channels=tuple(dict.fromkeys([*spec.channels, *added.channels])),
        variables={**spec.variables, **added.variables},
    )


def _uninstall(arguments: argparse.Namespace) -> int:
    return _change(arguments, lambda spec: spec.without(arguments.packages))


def _rebuild(arguments: argparse.Namespace) -> int:
    return _change(arguments, lambda spec: spec)


def _change(arguments: argparse.Namespace, change: Callable[[Spec], Spec]) -> int:
    env = own(arguments)
    base = base_of_spec(env)

    def changed(known: Spec | None) -> Spec:
        if known is None:
            raise Missing(f"environment: {env.name} is gone")
        return change(known)

    return _build(arguments, env, changed, base)


def base_of_spec(env: EnvFolder) -> Generation | None:
    """Return the generation that an environment would extend now; None: it extends none. Raises Missing, Wrong."""
    try:
        extends = specs.read(env.spec).extends
    except FileNotFoundError:
        raise Missing(f"environment: there is no {env.name}; `haienv create {env.name.name}` makes it") from None
    return _base_of(env, extends)[1] if extends else None


def _clone(arguments: argparse.Namespace) -> int:
    source, generation = registry().generation(names.parse(arguments.source))
    env = own(arguments)
    manifest = manifests.read(generation.manifest)
    asked = specs.read(source.spec)
    pins = lockfile.read(generation.lock)

    def change(_: Spec | None) -> Spec:
        if env.current() is not None:
            raise Wrong(f"environment: {env.name} exists; choose another name")
        return replace(
            asked,
            python=manifest.interpreter or None,
            extends=None,
            requirements=tuple(lockfile.requirements(pins)),
            constraints=(),
            conda=tuple(lockfile.conda(pins)),
        )

    return _build(arguments, env, change, None)
