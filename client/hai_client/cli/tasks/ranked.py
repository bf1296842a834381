"""Traces that name their rank, as tools that compare the traces of a folder expect them (HTA)."""

from __future__ import annotations

import zlib

#: Bytes that are decompressed at once.
_PIECE = 1 << 20


def with_rank(data: bytes, rank: int, world: int) -> bytes:
    """Return a trace that says which rank it is of; one that cannot be read is returned as it is.

    PyTorch writes that only where torch.distributed is initialised. HTA takes each other trace for that of rank 0.

    Args:
        data: The trace, JSON compressed with gzip, without a `distributedInfo`.
        rank: The number of the process among all that were recorded.
        world: How many there are.
    """
    try:
        return _rewritten(data, b'{\n"distributedInfo": {"rank": %d, "world_size": %d},' % (rank, world))
    except (ValueError, zlib.error):
        return data


def _rewritten(data: bytes, beginning: bytes) -> bytes:
    """Return the trace with another beginning in the place of its first brace. Raises ValueError, zlib.error."""
    reader, writer = zlib.decompressobj(31), zlib.compressobj(6, zlib.DEFLATED, 31)
    made, left, begun = bytearray(), data, False
    while not reader.eof:
        text = reader.decompress(left, _PIECE)
        left = reader.unconsumed_tail
        if not text and not left:
            break
        if not begun and text:
            head, brace, text = text.partition(b"{")
            if head.strip() or not brace:
                raise ValueError("it is no object")
            made += writer.compress(beginning)
            begun = True
        made += writer.compress(text)
    if not begun or not reader.eof:
        raise ValueError("it breaks off")
    return bytes(made + writer.flush())
