"""Takes a snapshot of a folder: walks through it, reads what has changed, sends what the service lacks."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Callable, NamedTuple, Protocol, Sequence

from hai_client.errors import HaiError, Invalid
from hai_client.quantity import amount
from hai_client.snapshots import manifest
from hai_client.snapshots.git import GitQuestions
from hai_client.snapshots.manifest import LINK, Entry
from hai_client.snapshots.packing import PIECE_BYTES, Packer
from hai_client.snapshots.remembered import RememberedFiles, cache_folder
from hai_client.snapshots.walking import HAIIGNORE, Skipped, TakenFile, TooMuch, WalkLimits, walk
from hai_client.wire.storage import SnapshotState

#: How often a folder is read that is written to at the same time.
_TRIES = 3
#: How many files or folders a refusal names.
_NAMED = 5
_BLOCK = 1024 * 1024
#: After how many files that are read the progress is told.
_TOLD = 16


class CodeStore(Protocol):
    """What of `Client` is needed here."""

    def snapshot_state(self, digest: str) -> SnapshotState | None:
        """Return how much of a snapshot the service has; None: nothing."""

    def offer_snapshot(self, digest: str, packed: bytes) -> SnapshotState:
        """Send a manifest, and return what is missing."""

    def send_contents(self, digest: str, stream: bytes) -> SnapshotState:
        """Send contents, and return what is missing."""


class Most(NamedTuple):
    """The most that a snapshot may be."""

    files: int
    size: int
    file_size: int  #: Bytes of a single file.


class Taken(NamedTuple):
    """A snapshot that the service has."""

    digest: str
    files: int
    size: int  #: Bytes of all files.
    sent: int  #: How many contents were sent, and in how many bytes.
    sent_size: int
    skipped: Sequence[Skipped]
    notes: Sequence[str]
    commit: str | None  #: The commit of git that was checked out; None: there is none.
    dirty: bool  #: Whether a file was not as in that commit.


class _Changed(Exception):
    """A file was changed while it was read."""


def _silent(_: str) -> None:
    """Say nothing."""


def take(
    service: CodeStore,
    folder: str,
    most: Most,
    *,
    cache: Path | None = None,
    progress: Callable[[str], None] = _silent,
) -> Taken:
    """Store a folder as it is now.

    Args:
        service: Where to store it.
        folder: The folder.
        most: The most that the service takes.
        cache: The folder of the user's cache; None: the usual one.
        progress: Called often with how far it is, in words.

    Raises:
        Invalid: The folder cannot be read, or has more than may be sent; the message says what is large.
        HaiError: What the service says.
    """
    for left in reversed(range(_TRIES)):
        try:
            return _take(service, folder, most, cache_folder(os.environ) if cache is None else cache, progress)
        except _Changed as changed:  # noqa: PERF203 -- three times at most
            if not left:
                raise Invalid(
                    f"snapshot: {changed} is written to while it is read; leave it out with {HAIIGNORE}, or wait"
                ) from None
    raise AssertionError("the last try returns or raises")


def _take(service: CodeStore, folder: str, most: Most, cache: Path, progress: Callable[[str], None]) -> Taken:
    own_rules = os.path.isfile(os.path.join(folder, HAIIGNORE))
    with GitQuestions(folder, rules=not own_rules) as asked:
        return _with_git(service, folder, most, cache, asked, progress, own_rules=own_rules)


def _with_git(
    service: CodeStore,
    folder: str,
    most: Most,
    cache: Path,
    asked: GitQuestions,
    progress: Callable[[str], None],
    *,
    own_rules: bool,
) -> Taken:
    try:
        seen = walk(folder, asked, WalkLimits(most.files, most.size), own_rules=own_rules)
    except TooMuch as error:
        raise _too_much(folder, error.found, most) from None
    except OSError as error:
        raise Invalid(f"snapshot: {folder} cannot be read ({_why(error)}); name the folder of the code") from None
    if not seen.found:
        raise Invalid(f"snapshot: there is no file to take in {folder}; submit from the folder of the code")
    remembered = RememberedFiles(folder, cache)
    where: dict[str, TakenFile] = {}
    entries = []
    progress(f"snapshot: reading {_files(len(seen.found))}")
    for number, found in enumerate(seen.found):
        if found.size > most.file_size:
            raise _too_large(found, most)
        content = found.target if found.kind == LINK else _content(folder, found, remembered)
        where.setdefault(content, found)
        entries.append(Entry(found.path, found.kind, found.size, content))
        if number % _TOLD == 0:
            progress(f"snapshot: reading file {number + 1} of {len(seen.found)}")
    try:
        body = manifest.encode(entries)
    except manifest.BadManifest as error:
        raise Invalid(f"snapshot: {error}") from None
    remembered.save()
    digest = manifest.digest_of(body)
    state = service.snapshot_state(digest)
    if state is None or not state.complete:
        state = service.offer_snapshot(digest, manifest.compress(body))
    sent, sent_size = _send(service, folder, state, where, progress)
    git = asked.commit()
    size = sum(entry.size for entry in entries)
    return Taken(digest, len(entries), size, sent, sent_size, seen.skipped, seen.notes, git.commit, git.dirty)


def _files(number: int) -> str:
    return f"{number} file{'s' if number != 1 else ''}"


def _send(
    service: CodeStore,
    folder: str,
    state: SnapshotState,
    where: dict[str, TakenFile],
    progress: Callable[[str], None],
) -> tuple[int, int]:
    """Send what the service lacks; return how many contents, and in how many bytes."""
    sent, sent_size = 0, 0
    lacking = _bytes_of(state.missing, where)
    while not state.complete:
        done = f"{amount(lacking - _bytes_of(state.missing, where))} of {amount(lacking)}"
        progress(f"snapshot: sent {sent} of {_files(sent + len(state.missing))}, {done}")
        # The service says again after each piece what it lacks, so that nothing is sent twice after an interruption.
        wanted = state.missing
        stream, number = _pack(folder, wanted, where)
        state = service.send_contents(state.digest, stream)
        if not state.complete and len(state.missing) >= len(wanted):
            raise HaiError("snapshot: the service does not keep what is sent to it; tell an admin")
        sent, sent_size = sent + number, sent_size + len(stream)
    return sent, sent_size


def _bytes_of(contents: Sequence[str], where: dict[str, TakenFile]) -> int:
    return sum(where[one].size for one in contents)


def _content(folder: str, found: TakenFile, remembered: RememberedFiles) -> str:
    known = remembered.content(found.path, found.stamp)
    if known is not None:
        return known
    began = time.time_ns()
    whole = hashlib.sha256()
    try:
        # A link in the place of the file, since it was seen, is not followed.
        handle = os.open(os.path.join(folder, found.path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb", buffering=0) as file:
            before = _stamp(handle)
            while True:
                block = file.read(_BLOCK)
                if not block:
                    break
                whole.update(block)
            if not before == _stamp(handle) == found.stamp:
                raise _Changed(found.path)
    except OSError as error:
        raise Invalid(f"snapshot: {found.path} cannot be read ({_why(error)}); leave it out with {HAIIGNORE}") from None
    content = whole.hexdigest()
    remembered.remember(found.path, found.stamp, content, read_at_ns=began)
    return content


def _stamp(handle: int) -> tuple[int, int, int, int, int]:
    state = os.fstat(handle)
    return (state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino, state.st_dev)


def _pack(folder: str, wanted: Sequence[str], where: dict[str, TakenFile]) -> tuple[bytes, int]:
    """Return the next contents as a stream, and how many they are."""
    packer, number = Packer(), 0
    for digest in wanted:
        found = where[digest]
        if number and packer.size + found.size > PIECE_BYTES:
            break
        try:
            with open(os.path.join(folder, found.path), "rb") as file:
                # One byte more shows a file that has grown.
                content = file.read(found.size + 1)
        except OSError:
            raise _Changed(found.path) from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise _Changed(found.path)
        packer.add(digest, content)
        number += 1
    return packer.finish(), number


def _too_large(found: TakenFile, most: Most) -> Invalid:
    return Invalid(
        f"snapshot: {found.path} has {amount(found.size)}, and a file may have {amount(most.file_size)}: "
        f"leave it out with a line in {HAIIGNORE} (or .gitignore), and read it by its own path"
    )


def _too_much(folder: str, found: list[TakenFile], most: Most) -> Invalid:
    """Return the refusal of a folder that has too many files or bytes; it names what is large."""
    by_size = len(found) <= most.files
    sums: dict[str, int] = {}
    for each in found:
        top, slash, _ = each.path.partition("/")
        sums[top + slash] = sums.get(top + slash, 0) + (each.size if by_size else 1)
    largest = sorted(sums, key=lambda name: -sums[name])[:_NAMED]
    named = ", ".join(f"{name} ({amount(sums[name]) if by_size else f'{sums[name]} files'})" for name in largest)
    limit = f"{amount(most.size)}" if by_size else f"{most.files} files"
    return Invalid(
        f"snapshot: {folder} has more than {limit}, the most for a snapshot; so far {named}: write what is no code "
        f"into {HAIIGNORE} (or .gitignore), or submit from the folder of the code"
    )


def told(taken: Taken) -> str:
    """Return for example `812 files, 3 sent, 14 kB; skipped: data/ (41 GB)`."""
    sent = f"{taken.sent} sent, {amount(taken.sent_size)}" if taken.sent else "none sent"
    said = f"{_files(taken.files)}, {sent}"
    large = sorted((one for one in taken.skipped if one.size >= 1_000_000), key=lambda one: -one.size)[:_NAMED]
    if not large:
        return said
    more = len([one for one in taken.skipped if one.size >= 1_000_000]) - len(large)
    named = ", ".join(f"{one.path} ({'' if one.whole else 'more than '}{amount(one.size)})" for one in large)
    return f"{said}; skipped: {named}{f' and {more} more' if more else ''}"


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
