"""Builds the client as one file, for images and laptops without it: `python -m hai_client.archive hai.pyz`.

The file starts ranks (`python3 hai.pyz rank --pod FOLDER`, `python3 hai.pyz rank FOLDER`). With other words it is the
command `hai` (`python3 hai.pyz list`). On PYTHONPATH, it makes `hai_client` importable for the code of a task. The
whole package is in the file: it hides the package of an image, so a module that is missing in the file could not be
imported. So is `hai_slurm` where it is installed: its commands run in tasks. The same packages make the same bytes.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from hai_client.whole_files import drafted

#: Time of all files in the archive: the earliest that the zip format can store.
EPOCH = (1980, 1, 1, 0, 0, 0)
#: Must run on every Python 3, so that it can print what is missing.
MAIN = '''\
"""Entry point: `python3 hai.pyz rank [--pod] FOLDER` starts a rank; all else is the command `hai`."""
import sys

if sys.version_info < (3, 8):
    sys.exit("hai: Python %d.%d is too old: the image needs a python3 of version 3.8 or newer" % sys.version_info[:2])
try:
    import zlib
except ImportError:
    sys.exit("hai: the image's python3 was built without zlib, which it needs to read its programs")
if sys.argv[1:2] != ["rank"]:
    from hai_client.cli import main

    sys.exit(main())

from hai_client.rank.__main__ import start

start(sys.argv[2:])
'''


def build(target: Path, packages: Sequence[Path] | None = None) -> None:
    """Write the archive, complete or not at all.

    Args:
        target: The file to write.
        packages: The folders of the packages (default: those that are installed here).

    Raises:
        OSError: The file cannot be written.
    """
    # Compressed, as Kubernetes takes one mebibyte in a ConfigMap. The entry point is not: it says if zlib is missing.
    with drafted(target) as draft, zipfile.ZipFile(draft, "w") as archive:
        _add(archive, "__main__.py", MAIN.encode())
        for source in _installed() if packages is None else packages:
            for path in _members(source):
                name = f"{source.name}/{path.relative_to(source).as_posix()}"
                _add(archive, name, path.read_bytes(), zipfile.ZIP_DEFLATED)


def _installed() -> list[Path]:
    found = find_spec("hai_slurm")
    return [Path(__file__).parent, *map(Path, (found and found.submodule_search_locations) or ())]


def _members(source: Path) -> list[Path]:
    found = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return sorted(found, key=lambda path: path.relative_to(source).as_posix())


def _add(archive: zipfile.ZipFile, name: str, data: bytes, compression: int = zipfile.ZIP_STORED) -> None:
    entry = zipfile.ZipInfo(name, EPOCH)
    # The same attributes on every system: a regular Unix file that all may read.
    entry.create_system = 3
    entry.external_attr = 0o100644 << 16
    archive.writestr(entry, data, compression)


def main(arguments: list[str] | None = None) -> int:
    """Write the archive; return 0, or print the reason and return 1."""
    parser = argparse.ArgumentParser(
        prog="python -m hai_client.archive",
        description="Write the client as one file, for images and laptops without it.",
    )
    parser.add_argument("target", type=Path, help="the file to write, for example hai.pyz")
    chosen = parser.parse_args(arguments)
    try:
        build(chosen.target)
    except OSError as error:
        print(f"hai: {chosen.target} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
