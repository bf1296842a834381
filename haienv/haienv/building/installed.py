"""What is installed in a Python environment, read from its files: nothing of it is imported or started."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from haienv.shared.errors import Damaged, Wrong
from haienv.shared.files import write_bytes_atomically
from haienv.store.spec import normal

if TYPE_CHECKING:
    from importlib.metadata import Distribution

#: What a script of bin/ begins with that starts the Python beside it, wherever that lies; uv writes the same.
_BESIDE = b"""#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")"/'python' "$0" "$@"
' '''
"""
_EXECUTABLE = 0o755


@dataclass(frozen=True)
class Package:
    """A package that is installed."""

    version: str
    requested: bool  #: Whether a user has named it, rather than another package.
    url: str = ""  #: Where it is from, if from no index; without a user's name or password.

    def requirement(self, name: str) -> str:
        """Return the requirement that asks for it."""
        return f"{name} @ {self.url}" if self.url else f"{name}=={self.version}"


def site_packages(prefix: Path) -> Path:
    """Return the folder of packages of a Python environment. Raises Damaged."""
    found = sorted(prefix.glob("lib/python3*/site-packages"))
    if len(found) != 1:
        raise Damaged(f"{prefix}: has {len(found)} folders lib/python3*/site-packages; it needs one")
    return found[0]


def packages(prefix: Path) -> dict[str, Package]:
    """Return the installed packages by name, in its normal form. Raises Damaged, OSError."""
    found = {}
    for one in _distributions(prefix):
        if "Name" in one.metadata and (name := one.metadata["Name"]):
            found[normal(name)] = Package(one.version, one.read_text("REQUESTED") is not None, _url(one))
    return found


def _distributions(prefix: Path) -> Iterator[Distribution]:
    # Imported here: it takes longer than to see that a draft has not changed.
    from importlib.metadata import Distribution

    # Distribution.discover keeps what it has found from call to call.
    for path in sorted(site_packages(prefix).glob("*.dist-info")):
        yield Distribution.at(path)


def _origin(one: Distribution) -> dict[str, object]:
    try:
        data = json.loads(one.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _url(one: Distribution) -> str:
    data = _origin(one)
    address = str(data.get("url", ""))
    if not re.match(r"https?://", address) or "@" in address.split("/")[2]:
        return ""
    source = data.get("vcs_info")
    if isinstance(source, dict):
        return f"{source.get('vcs', 'git')}+{address}@{source.get('commit_id', '')}"
    return address


def refuse_outside(prefix: Path, name: str) -> None:
    """Refuse an environment that uses files outside of itself: they may change under a task.

    Raises:
        Wrong: It has an editable install, or a .pth file that names another folder.
    """
    for one in _distributions(prefix):
        source = _origin(one).get("dir_info")
        if isinstance(source, dict) and source.get("editable"):
            package = one.metadata["Name"]
            raise Wrong(
                f"package: {package} is an editable install of {_origin(one).get('url')}, which cannot be frozen:"
                " its folder"
                " may change under a task; install a copy instead: `pip install FOLDER` or `uv pip install"
                " FOLDER`, then"
                f" `haienv freeze {name}`"
            )
    place = site_packages(prefix)
    inside = os.path.realpath(prefix) + os.sep
    for path in sorted([*place.glob("*.pth"), *place.glob("*.egg-link")]):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            text = line.strip()
            if not text or text.startswith(("#", "import ", "import\t")) or text == ".":
                continue
            named = os.path.realpath(place / text)
            if not f"{named}{os.sep}".startswith(inside):
                raise Wrong(
                    f"package: {path.name} of the draft uses {named}, which cannot be frozen: that folder may"
                    " change under"
                    f" a task; install a copy of what is there, remove {path.name}, then `haienv freeze {name}`"
                )


def make_relocatable(prefix: Path) -> None:
    """Let scripts that name the Python of this folder start the one beside them. pip writes such. Raises OSError."""
    own = re.compile(rb"#!" + re.escape(os.fsencode(prefix / "bin")) + rb"/python[0-9.]*[^\n]*\n")
    # pip writes long paths, and those with spaces, through /bin/sh.
    long = re.compile(
        rb"#!/bin/sh\n'''exec' \"?" + re.escape(os.fsencode(prefix / "bin")) + rb"/python[^\n]*\n' '''\n"
    )  # fmt: skip
    for path in sorted((prefix / "bin").iterdir()):
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        found = own.match(data) or long.match(data)
        if found:
            write_bytes_atomically(path, _BESIDE + data[found.end() :], mode=_EXECUTABLE)
