"""Manifests: the list of all files of a snapshot, in one form, whose SHA-256 names the snapshot.

A manifest is JSON in UTF-8: `{"files": [[PATH, KIND, SIZE, WHAT], ...], "schema": 1}`, by path. KIND is `f` for a
file, `x` for a file that can be executed, `l` for a symbolic link. WHAT is the SHA-256 of the content, or the target.
The service trusts nothing in it: `parse` refuses whatever could lie outside of the folder, or mean two files.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
import zlib
from typing import Any, Iterator, NamedTuple, Sequence

from hai_client.constants import HIDDEN_PATTERN

#: Kinds of entries: a file, a file that can be executed, a symbolic link.
FILE, PROGRAM, LINK = "f", "x", "l"
#: The largest manifest, in bytes, after decompression.
MAX_MANIFEST_BYTES = 32 * 1024 * 1024
#: The most folders that lie in one another, the longest name and the longest path, in bytes.
MAX_DEPTH, MAX_NAME, MAX_PATH = 64, 255, 1024
#: The form of the SHA-256 of a manifest or a file.
DIGEST = re.compile(r"[0-9a-f]{64}")

_SCHEMA = 1
#: What is around the entries, and more characters than an entry can have.
_HEAD, _TAIL = '{"files":[', f'],"schema":{_SCHEMA}}}'
_LONGEST_ENTRY = 8 * 1024
_DECODER = json.JSONDecoder()
_LARGEST = 2**53
_HIDDEN = re.compile(HIDDEN_PATTERN)


class BadManifest(ValueError):
    """A manifest cannot be used; the message names the entry and what is wrong with it."""


class Entry(NamedTuple):
    """One file or symbolic link of a snapshot."""

    path: str  #: Relative to the folder, with `/` between names.
    kind: str  #: `FILE`, `PROGRAM` or `LINK`.
    size: int  #: Bytes of the content; 0 for a link.
    what: str  #: The SHA-256 of the content, or the target of a link.


class Manifest(NamedTuple):
    """All entries of a snapshot, by path, and the digest of the snapshot."""

    digest: str
    entries: Sequence[Entry]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(entry.size for entry in self.entries)

    @property
    def blobs(self) -> dict[str, int]:
        """The size of each content, by its SHA-256."""
        return {entry.what: entry.size for entry in self.entries if entry.kind != LINK}


def encode(entries: Sequence[Entry]) -> bytes:
    """Return the manifest of these entries, in any order. Raises BadManifest where `parse` would refuse it."""
    ordered = sorted(entries, key=lambda entry: entry.path.encode("utf-8", "surrogateescape"))
    _check(ordered, _LARGEST)
    text = json.dumps({"files": ordered, "schema": _SCHEMA}, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def digest_of(body: bytes) -> str:
    """Return the name of the snapshot with this manifest."""
    return hashlib.sha256(body).hexdigest()


def compress(body: bytes) -> bytes:
    """Return the manifest as it is sent and stored."""
    return zlib.compress(body, 1)


def decompress(packed: bytes) -> bytes:
    """Return the manifest that `compress` has packed. Raises BadManifest for anything else, or for too much."""
    unpacker = zlib.decompressobj()
    try:
        body = unpacker.decompress(packed, MAX_MANIFEST_BYTES)
    except zlib.error:
        raise BadManifest("is not compressed with zlib: send it as `hai` does") from None
    if unpacker.unconsumed_tail:
        raise BadManifest(f"is larger than {MAX_MANIFEST_BYTES // 2**20} MiB: leave files out with .haiignore")
    if not unpacker.eof or unpacker.unused_data:
        raise BadManifest("does not end where its compressed form ends: send it again")
    return body


def parse(body: bytes, *, most: int) -> Manifest:
    """Return the manifest.

    Args:
        body: What `encode` has made.
        most: The most entries, and the most folders.

    Raises:
        BadManifest: It is no manifest, has too many entries, or one that no folder can have.
    """
    try:
        text = body.decode()
    except ValueError:
        raise BadManifest("is not JSON in UTF-8") from None
    entries = [_entry(each) for each in _listed(text, most)]
    _check(entries, most)
    return Manifest(digest_of(body), entries)


def _listed(text: str, most: int) -> Iterator[Any]:
    """Yield the entries one after the other: what is no manifest costs no more than its first wrong entry."""
    if not (text.startswith(_HEAD) and text.endswith(_TAIL)):
        raise BadManifest(f"has not the keys files and schema, with schema {_SCHEMA}: update the client")
    at, end = len(_HEAD), len(text) - len(_TAIL)
    number = 0
    while at < end or (number and text[at - 1] == ","):
        number += 1
        if number > most:
            raise BadManifest(f"has more than {most} files, which is the most: leave files out with .haiignore")
        try:
            each, length = _DECODER.raw_decode(text[at : min(end, at + _LONGEST_ENTRY)])
        except (ValueError, RecursionError):
            raise BadManifest(f"its entry {number} is not JSON, or longer than any can be") from None
        yield each
        at += length
        if at < end and text[at] != ",":
            raise BadManifest(f"its entry {number} does not end where the next one begins")
        at += 1


def _entry(each: Any) -> Entry:
    if not isinstance(each, list) or len(each) != 4:
        raise BadManifest(f"{each!r:.80}: an entry is a list of path, kind, size and digest")
    path, kind, size, what = each
    if not (isinstance(path, str) and isinstance(kind, str) and type(size) is int and isinstance(what, str)):
        raise BadManifest(f"{each!r:.80}: path, kind and digest are texts, and the size is a number")
    return Entry(path, kind, size, what)


def _check(entries: Sequence[Entry], most: int) -> None:
    """Raise BadManifest for entries that no folder can have, or that are not in their order."""
    before = b""
    sizes: dict[str, int] = {}
    #: The spelling of each file and folder, by what a file system without cases takes it for.
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for entry in entries:
        encoded = check_path(entry.path)
        if encoded <= before and before:
            raise BadManifest(f"{entry.path!r:.200}: is listed twice, or not in the order of paths")
        before = encoded
        _check_content(entry)
        if entry.kind != LINK and sizes.setdefault(entry.what, entry.size) != entry.size:
            raise BadManifest(f"{entry.path!r:.200}: its content is listed with two sizes")
        _place(entry.path, files, folders)
        if len(folders) > most:
            raise BadManifest(f"has more than {most} folders, which is the most: leave some out with .haiignore")
    for key, path in files.items():
        if f"{key}/" in folders:
            folder = folders[f"{key}/"][:-1]
            raise BadManifest(f"{path!r:.200}: is a file, and {folder!r:.200} is a folder of the same name")


def _check_content(entry: Entry) -> None:
    if entry.kind == LINK:
        check_target(entry.path, entry.what)
        if entry.size != 0:
            raise BadManifest(f"{entry.path!r:.200}: a link has the size 0")
    elif entry.kind in (FILE, PROGRAM):
        if not DIGEST.fullmatch(entry.what):
            raise BadManifest(f"{entry.path!r:.200}: {entry.what!r:.80} is no SHA-256")
        if not 0 <= entry.size <= _LARGEST:
            raise BadManifest(f"{entry.path!r:.200}: {entry.size} is no size")
    else:
        raise BadManifest(f"{entry.path!r:.200}: {entry.kind!r:.20} is no kind of file")


def _place(path: str, files: dict[str, str], folders: dict[str, str]) -> None:
    """Note the file and the folders of a path, each name looked at once. Raises BadManifest for a second spelling."""
    *above, last = path.split("/")
    key = folder = ""
    for name in above:
        key, folder = f"{key}{_key(name)}/", f"{folder}{name}/"
        other = folders.setdefault(key, folder)
        if other != folder:
            raise _alike(folder[:-1], other[:-1])
    other = files.setdefault(key + _key(last), path)
    if other != path:
        raise _alike(path, other)


def _alike(path: str, other: str) -> BadManifest:
    return BadManifest(
        f"{path!r:.200} and {other!r:.200} are one name where capitals do not count: rename one, or leave one out"
    )


def _key(name: str) -> str:
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def check_path(path: str) -> bytes:
    """Return a relative path in UTF-8. Raises BadManifest for one that is not below the folder, or cannot be stored."""
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        raise BadManifest(f"{path!r:.200}: is not UTF-8: rename it, or leave it out with .haiignore") from None
    names = path.split("/")
    if any(name in ("", ".", "..") for name in names):
        raise BadManifest(f"{path!r:.200}: is not a path below the folder")
    if _HIDDEN.search(path):
        raise BadManifest(f"{path!r:.200}: has a character in its name that is not shown: rename it, or leave it out")
    if len(names) > MAX_DEPTH or len(encoded) > MAX_PATH or any(len(name.encode()) > MAX_NAME for name in names):
        raise BadManifest(
            f"{path!r:.200}: is too long: at most {MAX_DEPTH} folders, {MAX_NAME} bytes a name and {MAX_PATH} in all"
        )
    return encoded


def check_target(path: str, target: str) -> None:
    """Check that a link stays within the folder, whatever other links there are. Raises BadManifest.

    Steps up must come first: after a name, which may be another link, `..` could lead anywhere.
    """
    names = target.split("/")
    ups = 0
    while ups < len(names) and names[ups] == "..":
        ups += 1
    # A target of steps up alone (`..`, `../..`) is a folder above the link, and `.` its own folder.
    rest: list[str] = names[ups:]
    fine = rest in ([], ["."]) or not any(name in ("", ".", "..") for name in rest)
    if not target or not fine or ups > path.count("/") or _HIDDEN.search(target):
        raise BadManifest(
            f"{path!r:.200}: the link to {target!r:.200} is not known to stay within the folder: leave it out"
        )
    try:
        long = len(target.encode()) > MAX_PATH
    except UnicodeEncodeError:
        long = True
    if long:
        raise BadManifest(f"{path!r:.200}: the target of the link is too long, or not UTF-8: leave it out")


def missing_first(entries: Sequence[Entry], missing: set[str]) -> list[Entry]:
    """Return one entry for each content in `missing`, in the order of the manifest."""
    left = set(missing)
    found = []
    for entry in entries:
        if entry.kind != LINK and entry.what in left:
            left.discard(entry.what)
            found.append(entry)
    return found
