"""Finds the files that a name, a folder or a list of names means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Sequence, Union

from hai_ffrecord.layout import SUFFIX

Name = Union[str, "os.PathLike[str]"]


def files_of(fname: Name | Sequence[Name]) -> list[str]:
    """Return the files that a reader opens, in the order of their samples.

    A folder means its `*.ffr` sorted by name; a list or a tuple means its files as they stand there.

    Raises:
        TypeError: if it is neither a path nor a list or tuple of paths.
        FileNotFoundError: if a file is missing, or a folder has none.
        ValueError: if a name does not end with `.ffr`, or nothing is named.
    """
    if isinstance(fname, (str, os.PathLike)):
        if Path(fname).is_dir():
            return _inside(Path(fname))
        names = [fname]
    elif isinstance(fname, (list, tuple)):
        names = list(fname)
    else:
        raise TypeError(f"fname must be a path, or a list or tuple of paths, not {type(fname).__name__}")
    if not names:
        raise ValueError("fname is empty: name at least one .ffr file")
    return [_file(Path(name)) for name in names]


def _inside(folder: Path) -> list[str]:
    found = sorted(str(path) for path in folder.glob("*" + SUFFIX))
    if not found:
        raise FileNotFoundError(f"{folder} has no file whose name ends with {SUFFIX}")
    return found


def _file(path: Path) -> str:
    if path.suffix != SUFFIX:
        raise ValueError(f"{path} does not end with {SUFFIX}: name such a file, or a folder of them")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if not path.is_file():
        raise ValueError(f"{path} is not a file: inside a list, name the .ffr files themselves")
    return str(path)
