"""Where what lies in the folder of snapshots, and the lock of each user.

    ROOT/USER/lock                    shared by who uses snapshots, alone for who removes them
    ROOT/USER/manifests/DIGEST        compressed; the time of its last change is when it was last used
    ROOT/USER/counts/DIGEST           files and bytes, as two numbers
    ROOT/USER/contents/ab/SHA256      one content; SHA256.x where it can be executed, as links share their rights
    ROOT/USER/trees/DIGEST/code/      the tree; the folder around it is the account's of the user
    ROOT/USER/incoming/               what is being written or removed: after a crash it is removed by age

Everything appears by a rename, so that a process that is killed leaves nothing half made. Contents are each user's own:
if users shared them, a hash would be enough to get a file of somebody else, or to learn that somebody has it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from hai_client.linux.rights import make_folder
from hai_client.snapshots.manifest import DIGEST
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.snapshots import NoSuchSnapshot

#: Everybody may pass, nobody may list.
PASS: Final = 0o711
#: How long to wait for a user's lock, in seconds: it is held alone for moments.
PATIENCE_S: Final = 15.0
_PARTS: Final = ("manifests", "counts", "contents", "trees", "incoming")


@dataclass(frozen=True, slots=True)
class Place:
    """The snapshots of one user."""

    folder: Path

    @property
    def incoming(self) -> Path:
        """The folder for what is not complete."""
        return self.folder / "incoming"

    def manifest(self, digest: str) -> Path:
        """The manifest of a snapshot."""
        return self.folder / "manifests" / digest

    def counts(self, digest: str) -> Path:
        """The file with the numbers of files and bytes of a snapshot."""
        return self.folder / "counts" / digest

    def tree(self, digest: str) -> Path:
        """The folder around the tree of a snapshot."""
        return self.folder / "trees" / digest

    def content(self, digest: str, *, program: bool = False) -> Path:
        """The file with a content."""
        return self.folder / "contents" / digest[:2] / (f"{digest}.x" if program else digest)

    def either(self, digest: str) -> Path:
        """A file with a content, whatever its rights are."""
        plain = self.content(digest)
        return plain if plain.exists() else self.content(digest, program=True)

    def draft(self) -> Path:
        """A new name in the folder for what is not complete."""
        return self.incoming / secrets.token_hex(12)

    def make(self) -> None:
        """Make the folders. Raises OSError."""
        for folder in (self.folder, *(self.folder / part for part in _PARTS)):
            make_folder(folder, PASS)
        # They may have been made under a umask.
        for folder in (self.folder, self.folder / "trees"):
            folder.chmod(PASS)

    @contextmanager
    def locked(self, *, alone: bool = False, patience: float = PATIENCE_S) -> Iterator[None]:
        """Hold the user's lock; it goes with the process, however that ends. Raises Temporary after the patience."""
        handle = self.take(alone=alone, patience=patience)
        try:
            yield
        finally:
            os.close(handle)

    def take(self, *, alone: bool, patience: float = PATIENCE_S) -> int:
        """Take the lock and return its file descriptor; closing that gives it back. Raises Temporary, and OSError."""
        handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    os.close(handle)
                    raise Temporary(f"the snapshots in {self.folder} are in use: try again in a moment") from None
                time.sleep(0.02)
            except BaseException:
                os.close(handle)
                raise
            else:
                return handle


def place_of(root: Path, user: str) -> Place:
    """Return the place of a user's snapshots. Names of users are escaped: each has a folder directly in ROOT."""
    name = quote(user, safe="@+=,")
    return Place(root / (name if name.strip(".") and not name.startswith(".") else f"%2E{name[1:]}"))


def user_of(folder: str) -> str:
    """Return the user whose folder it is."""
    return unquote(folder)


def checked(digest: str) -> str:
    """Return the digest of a snapshot if it can be one. Raises NoSuchSnapshot."""
    if not DIGEST.fullmatch(digest):
        raise NoSuchSnapshot(f"{digest!r:.80} is no digest of a snapshot: give 64 hexadecimal digits")
    return digest
