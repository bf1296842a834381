"""Small files that readers see whole or not at all: a draft beside the file is written first, and then renamed.

The supervisor of ranks has its own way, `hai_client.rank.shared.safefile`, which also works on a full disk.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def write_whole(path: Path, text: str, *, mode: int = 0o600, on_disk: bool = False) -> None:
    """Make a file, or replace the one that is there.

    Args:
        path: The file.
        text: Its content, written as UTF-8.
        mode: The rights of the file, less the umask; by default only its owner can read it.
        on_disk: Whether the file survives a power cut once this returns. Without it, it may be empty afterwards.

    Raises:
        OSError: The file cannot be written; what was there before is left as it was.
    """
    draft = _draft_of(path)
    with _taking_the_place_of(path, draft):
        _write(draft, text, mode, on_disk)
    if on_disk:
        _sync_folder(path.parent)


def write_once(path: Path, text: str, *, on_disk: bool = False) -> bool:
    """Make a file unless there is one, which is then left as it is; only its owner can read it.

    Args:
        path: The file.
        text: Its content, written as UTF-8.
        on_disk: As for `write_whole`.

    Returns:
        Whether it was written.

    Raises:
        OSError: The file cannot be written.
    """
    draft = _draft_of(path)
    try:
        _write(draft, text, 0o600, on_disk)
        os.link(str(draft), str(path))
    except FileExistsError:
        return False
    finally:
        _remove(draft)
    if on_disk:
        _sync_folder(path.parent)
    return True


@contextlib.contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Yield the path of a draft to write, which takes the place of the file at the end, or is removed after an error.

    Raises:
        OSError: The draft cannot be renamed.
    """
    # The suffix is kept: writers of pictures choose the format by it.
    draft = path.with_name(f".{_token()}.{path.name}")
    with _taking_the_place_of(path, draft):
        yield draft


@contextlib.contextmanager
def _taking_the_place_of(path: Path, draft: Path) -> Iterator[None]:
    try:
        yield
        draft.replace(path)
    except BaseException:
        _remove(draft)
        raise


def _draft_of(path: Path) -> Path:
    # The suffix is another: readers of a folder look for those of its files.
    return path.with_name(f".{path.name}.{_token()}")


def _token() -> str:
    # Several processes may write the same file at the same time.
    return os.urandom(6).hex()


def _write(draft: Path, text: str, mode: int, on_disk: bool) -> None:
    descriptor = os.open(str(draft), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        if on_disk:
            file.flush()
            os.fsync(file.fileno())


def _remove(draft: Path) -> None:
    with contextlib.suppress(OSError):
        draft.unlink()


def _sync_folder(folder: Path) -> None:
    """Wait until the disk knows the names in a folder."""
    descriptor = os.open(str(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
