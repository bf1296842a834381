"""Files of tensors: written complete or not at all, and read without running code from them."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hfai._plain import plain


class NotPlain(TypeError):
    """A value or a file cannot be read back as plain data."""


def write(state: Any, path: Path) -> None:
    """Write a file under another name, wait until the disk has it, and rename it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.tmp{os.getpid()}")
    try:
        with draft.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the disk knows the names in a folder. Raises OSError."""
    handle = os.open(str(folder), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read(path: Path, **options: Any) -> Any:
    """Read a file that `write` or `torch.save` has written.

    Raises:
        NotPlain: The file holds more than tensors and plain data.
    """
    try:
        return torch.load(path, weights_only=True, **options)
    except pickle.UnpicklingError as error:
        raise NotPlain(
            f"{path} holds more than tensors and plain data, and is not read: {str(error).splitlines()[0]} "
            "If it is your own, read it with torch.load(path, weights_only=False) and save what you need of it"
        ) from None


def check(what: str, value: Any) -> None:
    """Check now whether a value can be read back after an interruption. Raises NotPlain."""
    memory = io.BytesIO()
    try:
        torch.save(value, memory)
        memory.seek(0)
        torch.load(memory, weights_only=True)
    except Exception as error:  # noqa: BLE001  what a pickle runs into may be anything
        raise NotPlain(
            f"{what} cannot be kept in a checkpoint: it must be made of numbers, texts, lists, dicts and tensors "
            f"({type(error).__name__}: {str(error).splitlines()[0]})"
        ) from None


def simple(value: Any) -> Any:
    """Return the value with Python's numbers in place of NumPy's, which cannot be read back."""
    return plain(value, np.generic, lambda number: number.item())


def parts(folder: Path) -> list[Path]:
    """Return the files of a checkpoint in several files, in order."""
    return sorted(folder.glob("PART_*.pt"))
