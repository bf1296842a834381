"""Licences of what the images hold: each package has one of a list, or is named with the reason why it may be there.

The texts themselves are in the packages: a wheel installs them beside its metadata, and npm beside its code. The panel
and the page, whose code is one bundle, have a file `third-party-licenses.json`.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Final

#: SPDX names of licences that ask for no more than their text, or (MPL) for changed files of that package alone.
ALLOWED: Final = frozenset(
    {
        "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "CC0-1.0", "ISC", "MIT", "MIT-0",
        "MIT-CMU", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib",
    }
)  # fmt: skip
#: Packages with another licence, and why they may be shipped.
EXCEPTIONS: Final[Mapping[str, str]] = {
    "ldap3": "LGPL-3.0: a package of its own, imported and never changed, which anybody can replace",
    "psycopg": "LGPL-3.0, as ldap3",
    "psycopg-binary": "LGPL-3.0, as ldap3",
    "text-unidecode": "the Artistic License, which may be chosen instead of the GPL",
}
#: How metadata before License-Expression says it: classifiers, and the first line of License.
_SAID: Final[Mapping[str, str]] = {
    "3 Clause BSD": "BSD-3-Clause",
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_CLASSIFIER: Final = "License :: "


def of_metadata(metadata: Message) -> str:
    """Return what a Python package says, as an SPDX expression where its words are known, else in its own words."""
    if expression := metadata.get("License-Expression"):
        return str(expression)
    said = [text for text in metadata.get_all("Classifier", []) if text.startswith(_CLASSIFIER)]
    names = [text.rpartition(" :: ")[2] for text in said if text.count(" :: ") > 1]
    if not names:
        names = [next(iter(str(metadata.get("License", "")).strip().splitlines()), "").strip()]
    return " AND ".join(_SAID.get(name, name) for name in names)


def of_npm(package: Mapping[str, object]) -> str:
    """Return what a package.json says."""
    said = package.get("license", "")
    return str(said.get("type", "")) if isinstance(said, dict) else str(said)


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression can be met by licences of the list: one side of each OR, all sides of each AND."""
    plain = re.fullmatch(r"\(([^()]*)\)", expression.strip())
    sides = (plain[1] if plain else expression).split(" OR ")
    return any(all(name.strip() in ALLOWED for name in side.split(" AND ")) for side in sides)


def refused(packages: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each package, by name and expression, that may not be shipped."""
    return sorted(
        f"{name}: its licence is {expression or 'not said'}; leave it out, or give a reason in {Path(__file__).name}"
        for name, expression in packages
        if not is_allowed(expression) and name not in EXCEPTIONS
    )


def packages(context: Path) -> Iterator[tuple[str, str]]:
    """Yield name and licence of each package of others in a build's context: wheels, and packages of npm."""
    for wheel in sorted(context.glob("wheels/*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            (file,) = (name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
            metadata = message_from_bytes(archive.read(file))
        yield re.sub(r"[-_.]+", "-", metadata["Name"]).lower(), of_metadata(metadata)
    for file_of in sorted(context.glob("node_modules/**/package.json")):
        # Below a package are folders with a package.json of their own, which say how its files are read.
        if re.search(r"node_modules/(@[^/]+/)?[^/]+/package\.json$", file_of.as_posix()):
            package = json.loads(file_of.read_text(encoding="utf-8"))
            yield package["name"], of_npm(package)
