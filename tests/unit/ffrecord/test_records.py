"""Damaged files: an error, never a wrong sample."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_ffrecord import FFRecordError, FileReader, records
from kit.ffrecord_files import laid_out, with_offset

SAMPLES = [b"", b"first" * 7, b"second", b"x" * 300, b"", b"last one"]
GOOD = laid_out(SAMPLES)
INDEX = 12 + 12 * len(SAMPLES)


def read_all(path: Path, data: bytes, *, check: bool) -> list[bytes]:
    path.write_bytes(data)
    with FileReader(path, check) as reader:
        return [sample.tobytes() for sample in reader.read(range(reader.n))]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged") / "a.ffr"


def refused_or_right(path: Path, data: bytes) -> None:
    try:
        found = read_all(path, data, check=True)
    except FFRecordError:
        return
    assert found == SAMPLES
    assert data == GOOD


def only_from_the_samples(path: Path, data: bytes) -> None:
    """Without checksums what comes stands at least behind the index; only FFRecordErrors are raised."""
    try:
        found = read_all(path, data, check=False)
    except FFRecordError:
        return
    begin = 12 + 12 * struct.unpack_from("<q", data, 4)[0]
    assert all(sample in data[begin:] for sample in found)


@given(at=st.integers(0, len(GOOD) - 1), bit=st.integers(0, 7))
def test_a_bit_that_flipped(path: Path, at: int, bit: int) -> None:
    changed = bytearray(GOOD)
    changed[at] ^= 1 << bit
    refused_or_right(path, bytes(changed))
    only_from_the_samples(path, bytes(changed))


@given(at=st.integers(0, INDEX - 1), new=st.binary(min_size=1, max_size=24))
def test_another_header(path: Path, at: int, new: bytes) -> None:
    changed = (GOOD[:at] + new + GOOD[at + len(new) :])[: len(GOOD)]
    refused_or_right(path, changed)
    only_from_the_samples(path, changed)


@given(length=st.integers(0, len(GOOD) - 1))
def test_a_file_that_was_cut_off(path: Path, length: int) -> None:
    with pytest.raises(FFRecordError):
        read_all(path, GOOD[:length], check=True)
    only_from_the_samples(path, GOOD[:length])


@given(more=st.binary(min_size=1, max_size=50))
def test_bytes_behind_the_end(path: Path, more: bytes) -> None:
    with pytest.raises(FFRecordError):
        read_all(path, GOOD + more, check=True)


@given(anything=st.binary(max_size=200))
def test_no_records_at_all(path: Path, anything: bytes) -> None:
    only_from_the_samples(path, anything)


def with_count(count: int) -> bytes:
    """The bytes of a file whose header says `count` samples, and whose index has the checksum for that."""
    changed = bytearray(GOOD)
    struct.pack_into("<q", changed, 4, count)
    index = bytes(changed[4 : max(12, min(12 + 12 * max(count, 0), len(changed)))])
    struct.pack_into("<I", changed, 0, zlib.crc32(index))
    return bytes(changed)


COUNTS = [-1, -(2**63), 0, 1, 5, 7, 27, 28, 2**31, 2**32, 2**60, 2**63 - 1]


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("count", COUNTS)
def test_a_wrong_count(path: Path, count: int, check: bool) -> None:
    with pytest.raises(FFRecordError, match=r"a\.ffr is damaged.*(copy|write)"):
        read_all(path, with_count(count), check=check)


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(
    ("index", "offset"),
    [
        (0, 0),
        (0, INDEX + 1),
        (1, 11),
        (1, INDEX + 200),
        (2, -1),
        (2, -(2**63)),
        (2, 2**63 - 1),
        (3, INDEX),
        (3, len(GOOD) + 1),
        (5, len(GOOD) + 1),
        (5, INDEX),
        (5, 2**62),
    ],
)
def test_offsets_out_of_order_or_out_of_the_file(
    path: Path, index: int, offset: int, check: bool, mapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "IN_MEMORY", 0 if mapped else 1 << 20)
    with pytest.raises(FFRecordError, match="is damaged"):
        read_all(path, with_offset(GOOD, index, offset), check=check)


@pytest.mark.parametrize("index", range(1, len(SAMPLES)))
def test_an_offset_within_a_neighbour_is_seen_by_the_samples_checksum(path: Path, index: int) -> None:
    (offset,) = struct.unpack_from("<q", GOOD, 12 + 4 * len(SAMPLES) + 8 * index)
    with pytest.raises(FFRecordError):
        read_all(path, with_offset(GOOD, index, offset + 1), check=True)


def test_order_is_looked_at_across_blocks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "CHECKED_AT_ONCE", 2)
    assert read_all(path, GOOD, check=True) == SAMPLES
    path.write_bytes(with_offset(GOOD, 4, INDEX + 2))
    with pytest.raises(FFRecordError, match="out of order"):
        FileReader(path)


@pytest.mark.parametrize(
    ("index", "offset", "says"),
    [
        (len(SAMPLES) - 1, len(GOOD) + 1, f"its last sample should begin at byte {len(GOOD) + 1}"),
        (3, INDEX, "the offsets in its index are out of order"),
        (0, INDEX + 1, f"its samples should begin at byte {INDEX}"),
    ],
)
def test_a_wrong_offset_is_found_when_the_file_is_opened(path: Path, index: int, offset: int, says: str) -> None:
    path.write_bytes(with_offset(GOOD, index, offset))
    with pytest.raises(FFRecordError, match=says):
        records.RecordFile(str(path), check=True)
