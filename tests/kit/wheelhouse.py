"""Wheels of packages that are installed beside the tests, for installations that need no network."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement


def wheels_of(folder: Path, *names: str) -> None:
    """Make wheels of installed packages and of all that they need.

    Args:
        folder: Where the wheels go; it is made if needed.
        names: Names of the packages.
    """
    folder.mkdir(parents=True, exist_ok=True)
    waiting, seen = list(names), set[str]()
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name not in seen:
            seen.add(name)
            found = distribution(name)
            _wheel_of(folder, found)
            needs = [Requirement(line) for line in found.requires or ()]
            waiting += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]


def _wheel_of(folder: Path, found: Distribution) -> None:
    """Make one wheel, from the files that its record names within site-packages."""
    tags = re.findall(r"^Tag: (\S+)-(\S+)-(\S+)$", found.read_text("WHEEL") or "", re.MULTILINE)
    # A wheel for several Pythons has a line for each, and one name: `py2.py3-none-any`.
    tag = "-".join(".".join(dict.fromkeys(part)) for part in zip(*tags, strict=True))
    name = re.sub(r"[-_.]+", "_", found.metadata["Name"])
    contents = {
        str(path): Path(str(path.locate())).read_bytes()
        for path in found.files or ()
        if ".." not in path.parts and "__pycache__" not in path.parts and path.name not in ("RECORD", "INSTALLER")
    }
    info = next(path.split("/")[0] for path in contents if path.split("/")[0].endswith(".dist-info"))
    lines = [f"{path},{_digest(data)},{len(data)}" for path, data in contents.items()]
    with zipfile.ZipFile(folder / f"{name}-{found.version}-{tag}.whl", "w") as archive:
        for path, data in contents.items():
            archive.writestr(path, data)
        archive.writestr(f"{info}/RECORD", "\n".join([*lines, f"{info}/RECORD,,"]) + "\n")


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
