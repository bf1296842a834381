"""What the service asks of haienv. As a program, it answers one question with the rights of the account that runs it.

`python -m hai_scheduler.adapters.environments.lookup ROOT find USER GROUP,GROUP NAME` prints what it has found as JSON,
`ROOT check NAME GENERATION DIGEST` prints `{}`, `ROOT list USER GROUP,GROUP all` (or `mine`) environments, and
`ROOT show USER GROUP,GROUP NAME` one with its packages. A fault is an object with `kind` and `fault`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from hai_scheduler.adapters.environments import listing
from hai_scheduler.adapters.environments.reading import regular
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.workspace.abi import Needs
from hai_scheduler.ports.haienvs import HaienvFault, UnknownHaienv
from haienv.shared.errors import HaienvError, Missing
from haienv.store import manifest as manifests
from haienv.store import names, spec
from haienv.store.layout import EnvFolder, Generation
from haienv.store.manifest import Manifest

#: The most bytes that the variables of an environment may have together: each task stores them.
_MOST_VARIABLES: Final = 64 * 1024


def find(root: str, user: str, groups: Collection[str], text: str) -> tuple[Pin, Needs]:
    """Return the generation that a name means for a user, and what it needs. Raises UnknownHaienv and HaienvFault."""
    try:
        env, generation = listing.registry_of(root, user, groups).generation(names.parse(text))
        manifest = _manifest(generation)
        variables = _variables(generation)
    except Missing as error:
        raise UnknownHaienv(str(error)) from None
    except (HaienvError, OSError) as error:
        raise HaienvFault(str(error)) from None
    pin = Pin(
        name=str(env.name),
        generation=generation.number,
        digest=manifest.digest,
        interpreter=manifest.interpreter,
        python=manifest.python,
        flavour=getattr(manifest, "flavour", "venv"),
        variables=variables,
    )
    return pin, Needs(machine=manifest.machine, glibc=manifest.glibc, cuda=manifest.cuda or "")


def check(root: str, name: str, number: int, digest: str) -> None:
    """Check that a generation is there, and that its manifest has the digest. Raises HaienvFault."""
    generation = folder_of(root, name, number)
    what = f"environment {name}@{number}, which this task is pinned to,"
    remedy = "submit the task again, or bring back the folder from a backup"
    try:
        found = _manifest(generation)
        program = os.path.lexists(generation.python)
    except FileNotFoundError:
        raise HaienvFault(f"{what} is gone: there is no {generation.manifest}; {remedy}") from None
    except (HaienvError, HaienvFault, OSError) as error:
        raise HaienvFault(f"{what} is damaged: {error}; {remedy}") from None
    if found.digest != digest:
        raise HaienvFault(f"{what} is another one now: its manifest has {found.digest}, not {digest}; {remedy}")
    if not program:
        raise HaienvFault(f"{what} is damaged: there is no Python in {generation.prefix}; {remedy}")


def folder_of(root: str, name: str, number: int) -> Generation:
    """Return the folder of a generation by the full name of its environment. Raises HaienvFault."""
    try:
        ref = names.parse(name)
    except HaienvError as error:
        raise HaienvFault(str(error)) from None
    if ref.owner is None:
        raise HaienvFault(f"environment: {name!r} is not a full name")
    return EnvFolder(Path(root), names.EnvName(ref.owner, ref.name)).generation(number)


def name_of(root: str, folder: str) -> str | None:
    """Return the name with the generation whose prefix a folder is; None: of none."""
    try:
        parts = Path(os.path.realpath(folder)).relative_to(os.path.realpath(root)).parts
    except (ValueError, OSError):
        return None
    if len(parts) < 5 or parts[-3] != "generations" or parts[-1] != "prefix":
        return None
    text = f"{'/'.join(parts[:-3])}@{parts[-2]}"
    try:
        return text if names.parse(text).owner is not None else None
    except HaienvError:
        return None


def _manifest(generation: Generation) -> Manifest:
    regular(generation.manifest)
    return manifests.read(generation.manifest)


def _variables(generation: Generation) -> dict[str, str]:
    """Return the environment's own variables, as this generation has them."""
    try:
        regular(generation.spec)
        found = dict(spec.read(generation.spec).variables)
    except FileNotFoundError:
        return {}
    if sum(len(name) + len(value) for name, value in found.items()) > _MOST_VARIABLES:
        raise HaienvFault(f"{generation.spec}: its variables have more than {_MOST_VARIABLES} characters together")
    return found


def _split(groups: str) -> list[str]:
    return [one for one in groups.split(",") if one]


def _answer(words: list[str]) -> dict[str, Any]:
    match words:
        case [root, "find", user, groups, text]:
            pin, needs = find(root, user, _split(groups), text)
            return {**{name: getattr(pin, name) for name in Pin.__dataclass_fields__}, "needs": asdict(needs)}
        case [root, "list", user, groups, whose]:
            return asdict(listing.listed(root, user, _split(groups), everybodys=whose == "all"))
        case [root, "show", user, groups, text]:
            return asdict(listing.shown(root, user, _split(groups), text))
        case [root, "check", name, number, digest]:
            check(root, name, int(number), digest)
            return {}
        case _:
            raise HaienvFault(f"{words!r} is no question")


def main(words: list[str]) -> None:
    """Answer the question of a command line."""
    try:
        answer = _answer(words)
    except HaienvFault as error:
        answer = {"kind": type(error).__name__, "fault": str(error)}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1:])
