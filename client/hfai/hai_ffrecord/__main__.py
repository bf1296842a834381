"""`python -m hai_ffrecord info|verify|pack|unpack`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from hai_ffrecord.errors import FFRecordError
from hai_ffrecord.folder import NotPacked, PackedFolder, pack_folder
from hai_ffrecord.layout import SUFFIX, data_at
from hai_ffrecord.paths import files_of
from hai_ffrecord.reader import FileReader
from hai_ffrecord.records import RecordFile
from hai_ffrecord.verifying import faults


def main(words: list[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit status: 0 if all is well, 1 if files are damaged or missing, 2 (by argparse) for a wrong command line.
    """
    parsed = _parser().parse_args(words)
    try:
        status: int = parsed.run(parsed)
    except (FFRecordError, OSError, ValueError) as error:
        print(f"hai_ffrecord: {error}", file=sys.stderr)
        return 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hai_ffrecord", description="Files of records (.ffr).")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    # `required` is set here because Python 3.8 to 3.13 differ in what they say without it.
    commands.required = True

    info = commands.add_parser("info", help="what is in files: how many samples, how large; nothing is checked")
    info.add_argument("path", nargs="+", help="a file that ends with .ffr, or a folder of them")
    info.add_argument("--json", action="store_true", help="as JSON, an object a file")
    info.set_defaults(run=_info)

    verify = commands.add_parser("verify", help="read everything and hold it against its checksums")
    verify.add_argument("path", nargs="+", help="a file that ends with .ffr, or a folder of them")
    verify.set_defaults(run=_verify)

    pack = commands.add_parser("pack", help="pack all files below a folder into one file")
    pack.add_argument("folder", type=Path)
    pack.add_argument("-o", "--output", type=Path, help="the file (the folder's name and .ffr, beside it)")
    pack.add_argument("-v", "--verbose", action="store_true", help="a line for each file")
    pack.set_defaults(run=_pack)

    unpack = commands.add_parser("unpack", help="write each sample into a file: of a packed folder, under its name")
    unpack.add_argument("file", type=Path)
    unpack.add_argument("-o", "--output", type=Path, help="a new or empty folder (the file's name without .ffr)")
    unpack.set_defaults(run=_unpack)
    return parser


def _info(parsed: argparse.Namespace) -> int:
    found = [_of(path) for name in parsed.path for path in files_of(name)]
    if parsed.json:
        print(json.dumps(found, indent=2))
        return 0
    for one in found:
        kind = f"a packed folder of {one['files']} files" if one["files"] is not None else f"{one['samples']} samples"
        print(f"{one['path']}: {kind}, {_size(one['bytes'])}, index {_size(one['index_bytes'])}")
        if one["samples"]:
            print(
                f"  samples of {_size(one['smallest'])} to {_size(one['largest'])}, {_size(one['mean'])} on the average"
            )
        if not one["index_has_checksum"]:
            print("  its index has no checksum (an old writer)")
    if len(found) > 1:
        print(
            f"{len(found)} files: {sum(one['samples'] for one in found)} samples,"
            f" {_size(sum(one['bytes'] for one in found))}"
        )
    return 0


def _of(path: str) -> dict[str, Any]:
    file = RecordFile(path, check=False)
    try:
        lengths = np.diff(file.offsets())
        return {
            "path": path,
            "samples": file.n,
            "files": _packed(path),
            "bytes": file.size,
            "index_bytes": data_at(file.n),
            "index_has_checksum": file.has_checksum(),
            "smallest": int(lengths.min()) if file.n else 0,
            "largest": int(lengths.max()) if file.n else 0,
            "mean": round(float(lengths.mean())) if file.n else 0,
        }
    finally:
        file.close()


def _packed(path: str) -> int | None:
    """How many files a packed folder has; None of another file."""
    try:
        with PackedFolder(path, check_data=False) as folder:
            return folder.num_files()
    except FFRecordError:
        return None


def _verify(parsed: argparse.Namespace) -> int:
    damaged = 0
    names = [path for name in parsed.path for path in files_of(name)]
    for name in names:
        found = 0
        for fault in faults(name):
            found += 1
            print(fault)
        damaged += bool(found)
        if not found:
            print(f"{name}: whole")
    if damaged:
        print(f"{damaged} of {len(names)} files are damaged", file=sys.stderr)
    return 1 if damaged else 0


def _pack(parsed: argparse.Namespace) -> int:
    output = parsed.output or parsed.folder.absolute().with_name(parsed.folder.absolute().name + SUFFIX)
    pack_folder(parsed.folder, output, parsed.verbose)
    with PackedFolder(output) as packed:
        print(f"{output}: {packed.num_files()} files")
    return 0


def _unpack(parsed: argparse.Namespace) -> int:
    output = parsed.output or parsed.file.with_suffix("")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise ValueError(f"{output} exists and is no empty folder: name another one with -o")
    # Beside it, so that it is there whole or not at all.
    draft = output.with_name(f".{output.name}.unpacking")
    if draft.exists():
        raise ValueError(f"{draft} is left of an unpacking that was interrupted: remove it")
    try:
        count = _write(parsed.file, draft)
        if output.exists():
            output.rmdir()
        draft.replace(output)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    print(f"{output}: {count} files")
    return 0


def _write(file: Path, folder: Path) -> int:
    """Write each sample into a file; how many there were."""
    folder.mkdir(parents=True)
    try:
        packed = PackedFolder(file)
    except NotPacked:
        with FileReader(file) as reader:
            width = max(8, len(str(reader.n)))
            for index in range(reader.n):
                (folder / f"{index:0{width}d}.bin").write_bytes(reader.read_one(index))
            return reader.n
    with packed:
        _folders(packed.structure, folder)
        for path, number in packed.walk():
            (folder / path).write_bytes(packed.reader.read_one(number))
        return packed.num_files()


def _folders(names: Any, folder: Path) -> None:
    for name, inside in names.items():
        if not isinstance(inside, int):
            (folder / name).mkdir()
            _folders(inside, folder / name)


def _size(count: int) -> str:
    """Bytes for people."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


if __name__ == "__main__":
    sys.exit(main())
