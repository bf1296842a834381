"""Writes a whole data set, into one file or into a folder of files."""

from __future__ import annotations

import multiprocessing
import warnings
from pathlib import Path
from typing import Any

from hai_ffrecord.layout import SUFFIX
from hai_ffrecord.paths import Name
from hai_ffrecord.writer import FileWriter

#: Most files that are written at the same time.
AT_ONCE = 16


def dump(dataset: Any, fname: Name, nfiles: int, verbose: bool = False) -> None:
    """Write everything in a data set, in its order.

    Args:
        dataset: has a length, and `dataset[i]` is the bytes of sample i. Where several files are written, each is
            written by a process of its own, which gets the data set in the way of `multiprocessing`.
        fname: the file (`nfiles` is 1), or the folder for `PART_00000.ffr` and so on, each with ceil(n / nfiles)
            samples, the last one with what is left.
        nfiles: how many files; fewer are written if there are too few samples.
        verbose: print a line for each file.

    Raises:
        ValueError: if `nfiles` is below 1, or the folder has parts of another dump that would stay there.
        RuntimeError: if a file could not be written. Others may have been.
    """
    if nfiles < 1:
        raise ValueError(f"nfiles is {nfiles}: at least 1")
    n = len(dataset)
    if nfiles == 1:
        _write(dataset, 0, n, str(fname), verbose)
        return
    folder = Path(fname)
    folder.mkdir(parents=True, exist_ok=True)
    size = max(1, -(-n // nfiles))
    tasks = [
        (dataset, first, min(first + size, n), str(folder / f"PART_{number:05d}{SUFFIX}"), verbose)
        for number, first in enumerate(range(0, max(1, n), size))
    ]
    _nothing_else(folder, tasks)
    if len(tasks) != nfiles:
        warnings.warn(f"{n} samples make {len(tasks)} files of {size}, not {nfiles}", stacklevel=2)
    for first in range(0, len(tasks), AT_ONCE):
        _together(tasks[first : first + AT_ONCE])


def _nothing_else(folder: Path, tasks: list[tuple[Any, ...]]) -> None:
    """Raise ValueError if the folder has other parts, because a reader reads all files of a folder."""
    new = {Path(task[3]).name for task in tasks}
    old = sorted(path.name for path in folder.glob("PART_*" + SUFFIX) if path.name not in new)
    if old:
        raise ValueError(f"{folder} has {old[0]} of another dump, which readers would take for a part: remove it")


def _together(tasks: list[tuple[Any, ...]]) -> None:
    processes = [multiprocessing.Process(target=_write, args=task) for task in tasks]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    failed = [task[3] for task, process in zip(tasks, processes) if process.exitcode]
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(tasks)} files could not be written, the first of them {failed[0]}")


def _write(dataset: Any, first: int, stop: int, fname: str, verbose: bool) -> None:
    with FileWriter(fname, stop - first) as writer:
        for index in range(first, stop):
            writer.write_one(dataset[index])
    if verbose:
        print(f"{fname}: {stop - first} samples", flush=True)
