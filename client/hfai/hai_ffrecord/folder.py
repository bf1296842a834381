"""A folder of files packed into one, and read there without being unpacked."""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path
from typing import Any, Iterator, List, Sequence, TypeVar, Union

from typing_extensions import Self

from hai_ffrecord.errors import FFRecordError
from hai_ffrecord.paths import Name
from hai_ffrecord.reader import FileReader
from hai_ffrecord.table import as_json, from_json, json_beside, pickled, unpickled
from hai_ffrecord.writer import FileWriter

Array = Any
Arrays = List[Array]
Names = List[Union[str, Path]]

Kind = TypeVar("Kind", bound="PackedFolder")


class PackedFolder:
    """The files of a folder that was packed by `pack_folder` or by the original.

    The names come from the JSON beside the file if it belongs to this file, else from the pickle in the file, in which
    only names and numbers are allowed.

    Args:
        ffr_file: the file.
        check_data: check all data that is read against its checksum.

    Raises:
        FFRecordError: if the file is damaged.
        ValueError: if the file is not a packed folder.
    """

    def __init__(self, ffr_file: Name, check_data: bool = True) -> None:
        #: Reads the files by their numbers.
        self.reader = FileReader(ffr_file, check_data)
        try:
            #: Names: an OrderedDict of OrderedDicts (folders) and numbers (files).
            self.structure = self._names(Path(ffr_file))
        except BaseException:
            self.reader.close()
            raise

    def _names(self, file: Path) -> Any:
        files = self.reader.n - 1
        if files < 0:
            raise NotPacked(f"{file} has no samples: it is not a packed folder")
        found = from_json(file, files, int(self.reader.get_checksums(len(self.reader.fnames) - 1)[-1]))
        if found is not None:
            return found
        try:
            return unpickled(self.reader.read_one(files).tobytes(), files)
        except FFRecordError as error:
            raise NotPacked(f"{file}: {error}") from None

    def num_files(self) -> int:
        """Return the number of files."""
        return self.reader.n - 1

    def read_one(self, fname: Name) -> Array:
        """Return the bytes of a file (uint8).

        Raises:
            FileNotFoundError: if there is no such file.
            IsADirectoryError: if it is a folder.
        """
        return self.reader.read_one(self._number(fname))

    def read(self, fnames: Sequence[Name]) -> Arrays:
        """Return the bytes of several files, in this order; raises as `read_one` does."""
        if not isinstance(fnames, (list, tuple)):
            raise TypeError(f"fnames must be a list or a tuple of names, not {type(fnames).__name__}: see read_one")
        return self.reader.read([self._number(name) for name in fnames])

    def exists(self, path: Name) -> bool:
        """Return whether there is a file or a folder of this name."""
        return self._find(path) is not None

    def is_file(self, path: Name) -> bool:
        """Return whether there is a file of this name."""
        return isinstance(self._find(path), int)

    def is_dir(self, path: Name) -> bool:
        """Return whether there is a folder of this name."""
        return isinstance(self._find(path), OrderedDict)

    def list(
        self, path: Name | None = None, list_file: bool = True, list_dir: bool = True, recursive: bool = False
    ) -> Names:
        """The names in a folder, by default the whole one; those deeper down, as paths from there, where `recursive`.

        Raises:
            FileNotFoundError: if there is no such folder.
            NotADirectoryError: if it is a file.
        """
        found = self.structure if path is None else self._find(path)
        if found is None:
            raise FileNotFoundError(f"{path} is not in {self.reader.fnames[0]}")
        if isinstance(found, int):
            raise NotADirectoryError(f"{path} in {self.reader.fnames[0]} is a file")
        return self._listed(found, list_file, list_dir, recursive)

    def _listed(self, folder: Any, list_file: bool, list_dir: bool, recursive: bool) -> Names:
        names: Names = []
        for name, inside in folder.items():
            is_file = isinstance(inside, int)
            if list_file if is_file else list_dir:
                names.append(name)
            if recursive and not is_file:
                names += [Path(name) / below for below in self._listed(inside, list_file, list_dir, recursive)]
        return names

    def walk(self) -> Iterator[tuple[Path, int]]:
        """Yield path and number of all files, in order."""
        yield from _files(self.structure, Path())

    def close(self) -> None:
        """Close the file."""
        self.reader.close()

    def _find(self, path: Name) -> Any:
        found = self.structure
        for name in Path(path).parts:
            if not isinstance(found, OrderedDict) or name not in found:
                return None
            found = found[name]
        return found

    def _number(self, fname: Name) -> int:
        found = self._find(fname)
        if found is None:
            raise FileNotFoundError(f"{fname} is not in {self.reader.fnames[0]}")
        if not isinstance(found, int):
            raise IsADirectoryError(f"{fname} in {self.reader.fnames[0]} is a folder")
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class NotPacked(FFRecordError, ValueError):
    """A file has no valid table of names. The original raises a ValueError for that."""


def pack_folder(folder: Name, out_file: Name, verbose: bool = False) -> None:
    """Pack all files below a folder into one, in the order of their names, and write the names as JSON beside it.

    The file is byte by byte what the original makes of the folder under the same Python (a pickle differs from one
    Python to another).

    Args:
        folder: the folder; links in it are followed.
        out_file: the file; its name ends with `.ffr`.
        verbose: print a line for each file.

    Raises:
        NotADirectoryError: if there is no such folder.
        ValueError: if something in it is neither a file nor a folder, or a link leads in a circle.
    """
    root = Path(folder).absolute()
    if not root.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder: name one")
    names: Any = OrderedDict()
    count = _number(root, names, 0, ())
    table = pickled(names)
    width = len(str(count))
    beside = json_beside(Path(os.path.realpath(out_file)))
    with FileWriter(out_file, count + 1) as writer:
        for path, number in _files(names, root):
            writer.write_one(path.read_bytes())
            if verbose:
                print(f"{number:0{width}d}/{count} {path}", flush=True)
        writer.write_one(table)
    draft = beside.with_name(f".{beside.name}.tmp")
    draft.write_text(as_json(names, count, table), "utf-8")
    draft.replace(beside)


def _number(folder: Path, names: Any, count: int, above: tuple[Path, ...]) -> int:
    """Give the files of a folder their numbers; return the number of files so far."""
    real = Path(os.path.realpath(folder))
    if real in above:
        raise ValueError(f"{folder} is a link to a folder that it is in: remove it, or pack another folder")
    for child in sorted(folder.iterdir()):
        if child.is_dir():
            names[child.name] = OrderedDict()
            count = _number(child, names[child.name], count, (*above, real))
        elif child.is_file():
            names[child.name] = count
            count += 1
        else:
            raise ValueError(f"{child} is neither a file nor a folder: remove it, or pack another folder")
    return count


def _files(names: Any, folder: Path) -> Iterator[tuple[Path, int]]:
    for name, inside in names.items():
        if isinstance(inside, int):
            yield folder / name, inside
        else:
            yield from _files(inside, folder / name)
