"""Contents on the wire: one compressed stream of records, each a SHA-256, a size, and the bytes.

The service writes the same form when a task's snapshot is fetched.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Iterator

from hai_client.snapshots.manifest import DIGEST

#: About the bytes of content that go into one request.
PIECE_BYTES = 8 * 1024 * 1024
_LONGEST_HEAD = 64 + 1 + 16 + 1


class BadStream(ValueError):
    """A stream of contents is not what was agreed; the message says how."""


class Packer:
    """Makes one stream."""

    def __init__(self) -> None:
        self._zip = zlib.compressobj(6)
        self._parts: list[bytes] = []
        #: Bytes of content so far.
        self.size = 0

    def add(self, digest: str, content: bytes) -> None:
        """Add the content of a file."""
        self._parts.append(self._zip.compress(f"{digest} {len(content)}\n".encode()))
        self._parts.append(self._zip.compress(content))
        self.size += len(content)

    def finish(self) -> bytes:
        """Return the whole stream."""
        return b"".join([*self._parts, self._zip.flush()])


class Unpacker:
    """Reads a stream piece by piece, and checks each content while it comes.

    Args:
        expected: The size of each content that may come, by its SHA-256. Nothing else is read, however much a short
            stream would unpack to.
    """

    def __init__(self, expected: dict[str, int]) -> None:
        self._expected = dict(expected)
        self._zip = zlib.decompressobj()
        self._head = b""
        self._digest: str | None = None
        self._left = 0
        self._hash = hashlib.sha256()

    def take(self, piece: bytes) -> Iterator[tuple[str, bytes, bool]]:
        """Yield (digest, bytes, whether the content is complete and right) for what a piece of the stream contains.

        Raises BadStream.
        """
        while piece:
            try:
                plain = self._zip.decompress(piece, 1024 * 1024)
            except zlib.error:
                raise BadStream("the stream is not compressed with zlib, or was damaged on its way") from None
            piece = self._zip.unconsumed_tail
            if self._zip.eof and (piece or self._zip.unused_data):
                raise BadStream("the stream goes on after its end")
            yield from self._records(plain)

    def finish(self) -> None:
        """Check that the stream has come to its end. Raises BadStream."""
        if not self._zip.eof or self._digest is not None or self._head:
            raise BadStream("the stream ends in the middle: send the rest again")

    def _records(self, plain: bytes) -> Iterator[tuple[str, bytes, bool]]:
        at = 0
        while at < len(plain):
            if self._digest is None:
                end = plain.find(b"\n", at)
                stop = len(plain) if end < 0 else end + 1
                self._head += plain[at:stop]
                at = stop
                if len(self._head) > _LONGEST_HEAD:
                    raise BadStream("the stream has no record where one must begin")
                if end < 0:
                    return
                self._begin()
                if self._left:
                    continue
            part = plain[at : at + self._left]
            at += len(part)
            yield self._content(part)

    def _begin(self) -> None:
        digest, _, size = self._head[:-1].decode("ascii", "replace").partition(" ")
        self._head = b""
        if not DIGEST.fullmatch(digest) or not (size.isascii() and size.isdigit()):
            raise BadStream("the stream has no record where one must begin")
        if digest not in self._expected:
            raise BadStream(f"the content {digest[:12]} was not asked for: send only what is missing, and each once")
        if self._expected[digest] != int(size):
            raise BadStream(
                f"the content {digest[:12]} has {size} bytes, and the manifest says {self._expected[digest]}"
            )
        self._digest, self._left, self._hash = digest, int(size), hashlib.sha256()

    def _content(self, part: bytes) -> tuple[str, bytes, bool]:
        digest = self._digest
        assert digest is not None
        self._hash.update(part)
        self._left -= len(part)
        if self._left:
            return digest, part, False
        if self._hash.hexdigest() != digest:
            raise BadStream(f"the content {digest[:12]} has another SHA-256: the file was changed while it was sent")
        self._digest = None
        del self._expected[digest]
        return digest, part, True
