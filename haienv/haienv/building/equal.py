"""Files that are new in an environment and equal to one that the builder has made before: they become links to it.

uv links the files of packages, and writes some as new files into each environment: the scripts that activate it,
RECORD, INSTALLER. Of PyTorch alone these take megabytes. A file that is linked is also one whose digest is remembered.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from haienv.building.remembered import Facts, File
from haienv.shared.tree import sha256_of

FOLDER = "files"
#: Larger files are not kept for further environments: they are few, and the next one may never come. Bytes.
LARGEST = 16 * 1024 * 1024


def share(top: Path, files: Iterable[File], store: Path, known: Mapping[Facts, str]) -> dict[str, File]:
    """Let files be links to equal ones of further environments, and keep those that are the first of their kind.

    Args:
        top: The environment, which nobody uses yet. Its files are sealed.
        files: Those that were read. One that has several names already is a link to uv's cache, and is left alone.
        store: The builder's folder of such files.
        known: The digests that are remembered: a file of the store that is not the remembered one is read again.

    Returns:
        The files that are others now, by path.
    """
    now: dict[str, File] = {}
    # Where links cannot be made, the files stay what they are.
    with suppress(OSError):
        for one in files:
            if one.links == 1 and one.kind != "l" and 0 < one.size <= LARGEST:
                found = _linked(f"{top}/{one.path}", one, store, known)
                if found is not None:
                    now[one.path] = found
    return now


def _linked(place: str, one: File, store: Path, known: Mapping[Facts, str]) -> File | None:
    kept = os.path.join(str(store), FOLDER, one.content[:2], f"{one.content}.{one.kind}")
    try:
        stat = os.lstat(kept)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(kept), 0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.link(place, kept)
        return None
    facts = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if (known.get(facts) or sha256_of(kept)) != one.content:
        # Somebody has written into it.
        os.unlink(kept)
        return None
    draft = f"{place}.{os.getpid()}"
    os.link(kept, draft)
    try:
        os.replace(draft, place)
    except OSError:
        os.unlink(draft)
        raise
    return File(one.path, one.kind, facts, stat.st_nlink, one.content)
