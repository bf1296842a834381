"""Samples are decoded by what they begin with, and nothing in a sample can run."""

from __future__ import annotations

import io
import json
import os
import pickle
from collections import OrderedDict
from pathlib import Path

import pytest

from hfai import cli

np = pytest.importorskip("numpy")


def npz(*arrays: object) -> bytes:
    memory = io.BytesIO()
    np.savez(memory, *arrays)
    return memory.getvalue()


def npy(array: object) -> bytes:
    memory = io.BytesIO()
    np.save(memory, array)
    return memory.getvalue()


@pytest.fixture
def decode():
    # `hfai.datasets` itself needs PyTorch; this part of it does not.
    import importlib.util

    path = Path(cli.__file__).with_name("datasets") / "_decode.py"
    spec = importlib.util.spec_from_file_location("hfai_decode", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.decode


def test_samples_are_read_by_what_they_begin_with(decode) -> None:
    assert decode(npy(np.arange(3))).tolist() == [0, 1, 2]
    assert [part.tolist() for part in decode(npz(np.arange(2), np.ones(1)))] == [[0, 1], [1.0]]
    assert decode(np.frombuffer(json.dumps([1, "a"]).encode(), np.uint8)) == [1, "a"]
    assert decode(b"{not json") == b"{not json"
    assert decode(b"") == b""


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_plain_data_and_arrays_are_read(decode, protocol: int) -> None:
    value = (
        b"\x00\xff",
        "text",
        3,
        2.5,
        None,
        {"a": [1]},
        OrderedDict(b={2}),
        np.arange(6).reshape(2, 3),
        np.float32(1),
    )
    found = decode(pickle.dumps(value, protocol))
    assert found[:7] == value[:7]
    assert (found[7].tolist(), found[8], found[8].dtype) == (value[7].tolist(), 1.0, np.float32)


class Harmful:
    """A pickle that would make a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self):
        return (os.mkdir, (str(self._path),))


def test_a_pickle_that_names_anything_else_is_refused_and_nothing_is_run(decode, tmp_path: Path) -> None:
    for value in (Harmful(tmp_path / "made"), (1, Harmful(tmp_path / "made"))):
        with pytest.raises(pickle.UnpicklingError, match=r"names posix\.mkdir, and only plain data"):
            decode(pickle.dumps(value))
    with pytest.raises(pickle.UnpicklingError, match=r"builtins\.eval"):
        decode(pickle.dumps(eval))
    assert list(tmp_path.iterdir()) == []


def test_an_array_of_objects_is_refused_and_nothing_is_run(decode, tmp_path: Path) -> None:
    memory = io.BytesIO()
    np.save(memory, np.array([Harmful(tmp_path / "made")], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        decode(memory.getvalue())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cut", [8, -1])
def test_a_sample_that_was_cut_is_an_error(decode, cut: int) -> None:
    for whole in (npy(np.arange(30)), pickle.dumps({"a": [1] * 30})):
        with pytest.raises((ValueError, EOFError, pickle.UnpicklingError)):
            decode(whole[:cut])


@pytest.mark.parametrize("raw", [b"\xff\xd8 no JPEG's third byte", b"text", b"[1, 2", b"\xff"])
def test_what_is_of_no_known_kind_stays_bytes(decode, raw: bytes) -> None:
    assert decode(raw) == raw
    assert decode(memoryview(raw)) == raw


def test_a_mapping_of_json_is_its_value(decode) -> None:
    assert decode('{"a": "\u00e4"}'.encode()) == {"a": "\u00e4"}
