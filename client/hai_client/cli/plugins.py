"""Finds verbs of other packages by their entry points (`hai.commands`), so that the client does not depend on them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata

from hai_client.errors import Invalid

GROUP = "hai.commands"
#: What brings a verb, where it is not the extra of its name.
_BROUGHT_BY = {
    "backup": "'hai-platform[scheduler]'",
    "restore": "'hai-platform[scheduler]'",
    "slurm": "hai-slurm",
    "upgrade": "'hai-platform[scheduler]'",
}


def installed() -> tuple[str, ...]:
    """Return the sorted names of the verbs of other packages, without loading the packages."""
    return tuple(sorted({point.name for point in _points()}))


def _points() -> Sequence[metadata.EntryPoint]:
    if sys.version_info >= (3, 10):
        return tuple(metadata.entry_points(group=GROUP))
    return metadata.entry_points().get(GROUP, ())


def run(name: str, argv: Sequence[str]) -> int:
    """Run a verb of another package: a function that takes words and returns an exit status.

    Raises:
        Invalid: It, or something that it needs, is not installed.
    """
    points = [point for point in _points() if point.name == name]
    remedy = "run: pip install " + _BROUGHT_BY.get(name, f"'hai-platform[{name}]'")
    if not points:
        raise Invalid(f"{name}: not installed here; {remedy}")
    try:
        command = points[0].load()
    except ModuleNotFoundError as error:
        raise Invalid(f"{name}: needs the package {error.name!r}, which is not installed here; {remedy}") from None
    return int(command(list(argv)) or 0)
