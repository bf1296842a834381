"""What the service asks of haienv. As a program, it answers one question with the rights of the account that runs it.

`python -m hai_scheduler.adapters.environments.lookup ROOT find USER GROUP,GROUP NAME` prints what it has found as JSON,
and `ROOT check NAME GENERATION DIGEST` prints `{}`. A fault is an object with `kind` and `fault`.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from hai_scheduler.core.model.pins import Pin
from hai_scheduler.ports.haienvs import HaienvFault, UnknownHaienv
from haienv.shared.errors import HaienvError, Missing
from haienv.store import manifest as manifests
from haienv.store import names, spec
from haienv.store.layout import EnvFolder, Generation
from haienv.store.manifest import Manifest
from haienv.store.registry import Caller, Registry

#: The longest manifest or env.toml that is read, bytes: they are much shorter.
_LONGEST: Final = 4 * 1024 * 1024
#: The most bytes that the variables of an environment may have together: each task stores them.
_MOST_VARIABLES: Final = 64 * 1024


def find(root: str, user: str, groups: Collection[str], text: str) -> Pin:
    """Return the generation that a name means for a user. Raises UnknownHaienv and HaienvFault."""
    try:
        caller = Caller(user, tuple(sorted(group for group in groups if names.NAME.fullmatch(group))))
        env, generation = Registry(Path(root), caller).generation(names.parse(text))
        manifest = _manifest(generation)
        variables = _variables(generation)
    except Missing as error:
        raise UnknownHaienv(str(error)) from None
    except (HaienvError, OSError) as error:
        raise HaienvFault(str(error)) from None
    return Pin(
        name=str(env.name),
        generation=generation.number,
        digest=manifest.digest,
        interpreter=manifest.interpreter,
        python=manifest.python,
        flavour=getattr(manifest, "flavour", "venv"),
        variables=variables,
    )


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
    except (HaienvError, OSError) as error:
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
    _regular(generation.manifest)
    return manifests.read(generation.manifest)


def _variables(generation: Generation) -> dict[str, str]:
    """Return the environment's own variables, as this generation has them."""
    try:
        _regular(generation.spec)
        found = dict(spec.read(generation.spec).variables)
    except FileNotFoundError:
        return {}
    if sum(len(name) + len(value) for name, value in found.items()) > _MOST_VARIABLES:
        raise HaienvFault(f"{generation.spec}: its variables have more than {_MOST_VARIABLES} characters together")
    return found


def _regular(path: Path) -> None:
    """Raise HaienvFault for what cannot be such a file: reading it might never end."""
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LONGEST:
        raise HaienvFault(f"{path}: is no file of at most {_LONGEST} bytes")


def _answer(words: list[str]) -> dict[str, Any]:
    match words:
        case [root, "find", user, groups, text]:
            pin = find(root, user, [one for one in groups.split(",") if one], text)
            return {name: getattr(pin, name) for name in Pin.__dataclass_fields__}
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
