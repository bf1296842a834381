"""The version stands in the first pyproject.toml; every other place that must say it is written from there.

`PYTHONPATH=tools python -m release number` writes the places, `number --check` names those that differ. Code reads it
from `hai_client.version`, which is one of them: `hai.pyz` has no metadata to ask.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
#: Where the version is written by hand.
SOURCE: Final = "pyproject.toml"
#: 0.2.0, 1.10.3, 0.2.0rc1: what PEP 440 and semantic versions, which Helm and npm want, can both be made of.
_NUMBER: Final = re.compile(r"(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})(?:rc([1-9]\d{0,2}))?", re.ASCII)
_SAID: Final = r"""[0-9][^"'\s]*"""
_PROJECT: Final = rf'(?m)^(?<=\[project\]\n)(name = "[a-z-]+"\nversion = ")({_SAID})(?=")'
_PIN: Final = rf'("hai-[a-z]+(?:\[[a-z,]+\])?==)({_SAID})(?=")'
_RANGE: Final = r'("hai-[a-z]+(?:\[[a-z,]+\])?>=)([^"]*)(?=")'
_MODULE: Final = rf'(?m)^(__version__ = ")({_SAID})(?=")'
_NPM: Final = rf'("name": "hai-lab",\n\s*"version": ")({_SAID})(?=")'


class Wrong(Exception):
    """A version, or a place for it, is not as it must be; the text names the file, the value and the remedy."""


@dataclass(frozen=True)
class Place:
    """A place that says the version: in group 2 of the pattern, once or more."""

    file: str
    pattern: str
    form: str = "python"


#: All of them. `form` is how a place writes it: as Python, as npm and Helm do, or as a range.
PLACES: Final = (
    Place(SOURCE, _PIN),
    Place("client/pyproject.toml", _PROJECT),
    Place("client/hai_client/version.py", _MODULE),
    Place("client/hfai/pyproject.toml", _PROJECT),
    Place("client/hfai/pyproject.toml", _RANGE, "range"),
    Place("client/slurm/pyproject.toml", _PROJECT),
    Place("client/slurm/pyproject.toml", _PIN),
    Place("haienv/pyproject.toml", _PROJECT),
    Place("lab_extension/pyproject.toml", _PROJECT),
    Place("lab_extension/hai_lab/__init__.py", _MODULE),
    Place("lab_extension/src/api/constants.ts", rf"(?m)^(export const VERSION = ')({_SAID})(?=')"),
    Place("lab_extension/package.json", _NPM, "semantic"),
    Place("lab_extension/package-lock.json", _NPM, "semantic"),
    Place("helm/hai/Chart.yaml", rf"(?m)^(version: )({_SAID})$", "semantic"),
    Place("helm/hai/Chart.yaml", rf'(?m)^(appVersion: ")({_SAID})(?=")'),
)


def number(root: Path = ROOT) -> str:
    """Return the version. Raises Wrong if it is none."""
    said = tomllib.loads((root / SOURCE).read_text(encoding="utf-8"))["project"]["version"]
    if not isinstance(said, str) or not _NUMBER.fullmatch(said):
        raise Wrong(f"{SOURCE}: version is {said!r}: write MAJOR.MINOR.PATCH, such as 0.2.0, or 0.2.0rc1")
    return said


def forms(version: str) -> Mapping[str, str]:
    """Return how each kind of place writes a version."""
    found = _NUMBER.fullmatch(version)
    assert found is not None
    major, minor, patch, candidate = found.groups()
    first = f"{major}.{minor}" + (f".{patch}rc{candidate}" if candidate else "")
    return {
        "python": version,
        "semantic": f"{major}.{minor}.{patch}" + (f"-rc.{candidate}" if candidate else ""),
        "range": f"{first},<{major}.{int(minor) + 1}",
    }


def differences(root: Path = ROOT) -> Iterator[str]:
    """Yield a sentence for each place that says something else. Raises Wrong for a version that is none."""
    right = forms(number(root))
    for place in PLACES:
        found = [match[2] for match in re.finditer(place.pattern, (root / place.file).read_text(encoding="utf-8"))]
        if not found:
            yield f"{place.file}: nothing is like {place.pattern!r}: mend it, or PLACES in tools/release/number.py"
        for said in sorted({*found} - {right[place.form]}):
            yield f"{place.file}: {said}, and {SOURCE} says {right[place.form]}: run `make number`"


def write(root: Path = ROOT) -> list[str]:
    """Write the version into every place; returns the files that were changed. Raises Wrong."""
    right, changed = forms(number(root)), []
    for place in PLACES:
        path = root / place.file
        text = path.read_text(encoding="utf-8")
        new = re.sub(place.pattern, rf"\g<1>{right[place.form]}", text)
        if new != text:
            path.write_text(new, encoding="utf-8")
            changed.append(place.file)
    if left := list(differences(root)):
        raise Wrong(left[0])
    return sorted({*changed})
