"""One file with a whole generation, and copies of generations on the disk of one machine.

Thousands of small files of a shared file system cost every rank at its start. `pack` writes a squashfs image of a
generation beside it, which goes with the generation. `fetch` makes a copy in a folder of this machine, once for all who
use the generation there: from the image where there is one and `unsquashfs` is installed, else file by file. A copy is
compared with the digest in the manifest before anybody sees it. Its folder has the digest for its name.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

from haienv.shared import space, tree
from haienv.shared.errors import Damaged, Missing, NoSpace, Wrong
from haienv.shared.files import write_atomically
from haienv.shared.unfollowed import remove_tree
from haienv.store import manifest as manifests
from haienv.store.generations import changing
from haienv.store.layout import EnvFolder, Generation

#: The image of a generation, and what is known of it, beside the manifest.
IMAGE, FACTS = "pack.squashfs", "pack.json"
SCHEMA = 1
#: In a copy: written when it is whole; its time is that of the last use.
COMPLETE = "complete"
_STAGED = ".staged-"
#: Of zstd: mksquashfs takes 15 where it is not told, and ten times as long (docs/decisions/0028).
_LEVEL = "3"
_DAY_S = 86_400.0


@dataclass(frozen=True)
class Pack:
    """The image of a generation."""

    file: Path
    image: str  #: SHA-256 of the file: `sha256:...`.
    size: int  #: Its size, bytes.


def pack(env: EnvFolder, generation: Generation, *, say: Callable[[str], None]) -> Pack:
    """Write the image of a generation, or return the one that is there.

    Raises:
        Missing: mksquashfs is not installed, or the generation is gone.
        Wrong: It could not be written.
    """
    program = shutil.which("mksquashfs")
    if program is None:
        raise Missing("pack: there is no mksquashfs here; an admin installs squashfs-tools")
    with changing(env, f"pack {env.name}@{generation.number}", say=say):
        there = packed(generation)
        if there is not None:
            return there
        if not generation.complete:
            raise Missing(f"environment: {env.name} has no generation {generation.number}; it was removed")
        draft = generation.folder / f"{IMAGE}.draft"
        draft.unlink(missing_ok=True)
        # The same tree gives the same bytes: the image has no owners and no time of its making.
        words = [program, str(generation.prefix), str(draft), "-comp", "zstd", "-all-root", "-no-xattrs", "-mkfs-time"]
        words += ["0", "-Xcompression-level", _LEVEL, "-noappend", "-no-progress", "-quiet", "-no-exports"]
        try:
            _run(words, f"pack {env.name}@{generation.number}")
            made = Pack(generation.folder / IMAGE, f"sha256:{tree.sha256_of(str(draft))}", draft.stat().st_size)
            os.chmod(draft, 0o444)
            facts = {"schema": SCHEMA, "image": made.image, "size": made.size}
            os.replace(draft, made.file)
            write_atomically(generation.folder / FACTS, json.dumps(facts) + "\n", mode=0o444)
        finally:
            draft.unlink(missing_ok=True)
        return made


def packed(generation: Generation) -> Pack | None:
    """Return the image of a generation; None: there is none, or it is not whole."""
    try:
        facts = json.loads((generation.folder / FACTS).read_text(encoding="utf-8"))
        found = Pack(generation.folder / IMAGE, str(facts["image"]), int(facts["size"]))
        return found if found.file.stat().st_size == found.size else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def fetch(generation: Generation, digest: str, place: Path, *, days: float) -> Path:
    """Return a copy of a generation's prefix below a folder of this machine; make it if it is not there.

    Args:
        generation: The generation.
        digest: The digest that its manifest must have, as the task was pinned to it.
        place: The folder of all copies. Nobody but those who call this may write it.
        days: Copies that nobody has asked for in that time are removed; 0: none.

    Raises:
        Damaged: The files are not those of the digest; nothing is left.
        DiskFull: The copy has no room there; nothing is left.
        OSError: It could not be copied.
    """
    found = manifests.read(generation.manifest)
    if found.digest != digest:
        raise Damaged(f"{generation.folder}: its manifest has {found.digest}, and {digest} is wanted")
    copy = place / digest.replace(":", "-")
    with _alone(place / f".lock-{copy.name}"):
        try:
            os.utime(copy / COMPLETE)
        except FileNotFoundError:
            what = f"the copy of {found.name}@{generation.number}"
            # Known before anything is written: a node whose disk gets full loses other pods.
            space.check(what, str(place), found.size)
            with space.watched(what, str(place), need=found.size):
                _make(generation, digest, place, copy)
    if days > 0:
        _forget(place, time.time() - days * _DAY_S)
    return copy / generation.prefix.name


def _make(generation: Generation, digest: str, place: Path, copy: Path) -> None:
    # Who had the lock before is dead.
    staged = place / f"{_STAGED}{copy.name}"
    remove_tree(staged)
    remove_tree(copy)
    staged.mkdir(mode=0o755)
    prefix = staged / generation.prefix.name
    try:
        _fill(generation, prefix)
        made = tree.contents(prefix)
        if made.digest != digest:
            raise Damaged(f"{generation.folder}: its files have the digest {made.digest}, and {digest} is wanted")
        tree.seal(prefix)
        (staged / COMPLETE).touch()
        os.rename(staged, copy)
    finally:
        remove_tree(staged)


def _fill(generation: Generation, prefix: Path) -> None:
    image, program = packed(generation), shutil.which("unsquashfs")
    if image is None or program is None or f"sha256:{tree.sha256_of(str(image.file))}" != image.image:
        shutil.copytree(generation.prefix, prefix, symlinks=True)
        return
    _run([program, "-quiet", "-no-progress", "-no-xattrs", "-dest", str(prefix), str(image.file)], "unpack the image")


def _forget(place: Path, before: float) -> None:
    """Remove copies that were last asked for before a time."""
    for copy in sorted(place.glob("sha256-*")):
        with contextlib.suppress(FileNotFoundError), _alone(place / f".lock-{copy.name}"):
            if (copy / COMPLETE).stat().st_mtime < before:
                (copy / COMPLETE).unlink()
                remove_tree(copy)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock; the kernel frees it when the process dies."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _run(words: list[str], doing: str) -> None:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        kind = NoSpace if space.says_full(" ".join(said)) else Wrong
        raise kind(f"{doing}: {Path(words[0]).name} ended with status {done.returncode}: {' '.join(said[-2:])[:300]}")
