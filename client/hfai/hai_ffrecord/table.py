"""The table of a packed folder: which name is which sample.

It is the last sample of the file: nine bytes of magic, then a pickle of OrderedDicts in OrderedDicts, from name to
number. A pickle can run any code when it is loaded: this one is loaded by a loader that knows one class only, and the
result is checked to be a table.
"""

from __future__ import annotations

import io
import json
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

from hai_ffrecord.checksums import crc32
from hai_ffrecord.errors import FFRecordError

#: The first bytes of the last sample of a packed folder.
MAGIC = b"piouhjgbr"
#: The table as JSON, beside the file: for programs that load no pickle.
JSON_FORMAT = "hai-ffrecord-folder"
#: Deeper folders are refused: neither pickle nor JSON can carry very deep ones.
DEPTH = 200

Table = Any


class _Loader(pickle.Unpickler):
    """Makes OrderedDicts, texts and numbers; refuses everything else before it is called."""

    def find_class(self, module: str, name: str) -> Any:
        """The only class that a table has."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        raise FFRecordError(f"its table asks for {module}.{name}, and a table has names and numbers only")


def pickled(table: Table) -> bytes:
    """Return the last sample of a packed folder, as the original writes it."""
    return MAGIC + pickle.dumps(table)


def is_table(sample: bytes) -> bool:
    """Return whether a sample is the table of a packed folder."""
    return len(sample) > len(MAGIC) and sample.startswith(MAGIC)


def unpickled(sample: bytes, files: int) -> Table:
    """Return the table in the last sample of a packed folder.

    Args:
        sample: the bytes of that sample.
        files: how many samples come before it.

    Raises:
        FFRecordError: if the table does not name `files` samples.
    """
    if not is_table(sample):
        raise FFRecordError("its last sample is no table of names: it is not a packed folder")
    try:
        table = _Loader(io.BytesIO(sample[len(MAGIC) :])).load()
    except FFRecordError:
        raise
    except Exception as error:  # noqa: BLE001 -- a damaged pickle raises anything
        raise FFRecordError(f"its table cannot be loaded ({type(error).__name__}: {error})") from None
    return checked(table, files)


def checked(table: Any, files: int) -> Table:
    """Return a checked copy of the table, made of new OrderedDicts.

    Raises:
        FFRecordError: if names could lead out of a folder, or numbers are not those of the samples, each once.
    """
    walk = _Walk(files)
    made = walk.folder(table, 0)
    if sorted(walk.numbers) != list(range(files)):
        raise FFRecordError(f"its table does not name each of its {files} samples once")
    return made


class _Walk:
    """Goes through a table once; a table that is larger than its text ends it early."""

    def __init__(self, files: int) -> None:
        self.numbers: list[int] = []
        self._files = files
        self._folders: set[int] = set()

    def folder(self, table: Any, depth: int) -> Table:
        if type(table) is not OrderedDict:
            raise FFRecordError(f"its table has a {type(table).__name__} where a folder should be")
        # A few bytes of pickle can put a folder into itself, or into others so often that a walk would never end.
        if id(table) in self._folders:
            raise FFRecordError("its table has one folder in two places")
        if depth > DEPTH:
            raise FFRecordError(f"its table has folders more than {DEPTH} deep")
        self._folders.add(id(table))
        made = OrderedDict()
        for name, inside in table.items():
            if type(name) is not str or name in ("", ".", "..") or "/" in name or "\0" in name:
                raise FFRecordError(f"its table has the name {name!r}, which no file can have")
            if type(inside) is int:
                self.numbers.append(inside)
                if len(self.numbers) > self._files:
                    raise FFRecordError(f"its table names more than its {self._files} samples")
                made[name] = inside
            else:
                made[name] = self.folder(inside, depth + 1)
        return made


def json_beside(file: Path) -> Path:
    """Return the path of the JSON file with the table of a packed folder, which may be missing."""
    return file.with_name(file.name + ".json")


def as_json(table: Table, files: int, sample: bytes) -> str:
    """Return the table as JSON, with the facts that identify its file."""
    head = {"format": JSON_FORMAT, "version": 1, "files": files, "crc32": crc32(sample)}
    return json.dumps({**head, "tree": table}, indent=None, separators=(",", ":")) + "\n"


def from_json(file: Path, files: int, sum_: int) -> Table | None:
    """Return the table in the JSON file of a packed folder; None if there is none, or it is of another file.

    Args:
        file: the packed folder.
        files: how many files it has.
        sum_: the checksum of its last sample.

    Raises:
        FFRecordError: if the JSON belongs to this file and is damaged.
    """
    try:
        found = json.loads(json_beside(file).read_text("utf-8"), object_pairs_hook=_pairs)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("format") != JSON_FORMAT or found.get("version") != 1:
        return None
    if (found.get("files"), found.get("crc32")) != (files, sum_):
        return None
    return checked(found.get("tree"), files)


def _pairs(pairs: list[tuple[str, Any]]) -> Any:
    return OrderedDict(pairs)
