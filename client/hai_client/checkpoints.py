"""Checkpoints as folders `step-<number>`: each exists complete or not at all, and the oldest are removed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(r"step-([0-9]{8,})")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that is complete."""

    step: int
    path: Path


def found(folder: Path) -> list[Checkpoint]:
    """Return the checkpoints in a folder, the one of the greatest step first; none if it cannot be read."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return []
    steps = [(int(match[1]), name) for name, match in ((name, _NAME.fullmatch(name)) for name in names) if match]
    return [Checkpoint(step, folder / name) for step, name in sorted(steps, reverse=True)]


@contextlib.contextmanager
def writing(folder: Path, step: int, *, keep: int | None, writer: str) -> Iterator[Path]:
    """Yield a draft folder to write a checkpoint into.

    The draft is renamed to `step-<number>` when the block has ended without an error; else it is removed.

    Args:
        folder: The folder of the checkpoints.
        step: Number of the checkpoint; a checkpoint of the same number is replaced.
        keep: How many checkpoints there are at most afterwards; None: all stay.
        writer: Name of this process among those that may write at the same time; its old drafts are removed.

    Raises:
        ValueError: A number is wrong.
        OSError: The checkpoint cannot be written.
    """
    if step < 0:
        raise ValueError(f"step is {step}; it must be 0 or more")
    if keep is not None and keep < 1:
        raise ValueError(f"keep is {keep}; it must be 1 or more, or None to keep all")
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f".step-*.{writer}"):
        shutil.rmtree(left, ignore_errors=True)
    draft, path = folder / f".step-{step:08d}.{writer}", folder / f"step-{step:08d}"
    draft.mkdir()
    try:
        yield draft
        _to_disk(draft)
        if path.exists():
            # A rename cannot replace a folder that is not empty.
            path.rename(folder / f".step-{step:08d}-old.{writer}")
        draft.rename(path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    _sync(folder)
    shutil.rmtree(folder / f".step-{step:08d}-old.{writer}", ignore_errors=True)
    if keep is not None:
        for old in [checkpoint for checkpoint in found(folder) if checkpoint.path != path][keep - 1 :]:
            shutil.rmtree(old.path, ignore_errors=True)


def put_aside(checkpoint: Checkpoint) -> None:
    """Rename a checkpoint that cannot be read, so that `found` leaves it out. Raises OSError."""
    checkpoint.path.rename(checkpoint.path.with_name(f".unreadable-{checkpoint.path.name}-{os.getpid()}"))


def _to_disk(draft: Path) -> None:
    for folder, _, names in os.walk(draft):
        for name in names:
            _sync(Path(folder) / name)
        _sync(Path(folder))


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Some file systems cannot fsync folders.
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)
