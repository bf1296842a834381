"""The parts of hai-hfai that need no PyTorch: the command, NUMA nodes, samples."""

from __future__ import annotations

import io
import json
import os
import pickle
from collections import OrderedDict
from pathlib import Path

import pytest

from hai_client.cli.shared import parser as words_
from hfai import _numa, cli
from hfai.client import EXP_PRIORITY
from hfai.client._words import NEAREST

np = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (["list", "-g", "default"], ["list", "-g", "default"]),
        (["python", "train.py", "--no_zip"], ["python", "train.py", "--no_zip"]),
        (["python", "train.py", "--", "-n", "8", "-p", "30"], ["python", "train.py", "--", "-n", "8", "-p", "30"]),
        (["python", "a.py", "-g", "default", "--", "-n", "1", "-g", "default"],
         ["python", "a.py", "-g", "default", "--", "-n", "1"]),
        (["bash", "a.sh", "--", "--no_inherit", "-n", "1"], ["bash", "a.sh", "--", "-n", "1"]),
        (["python", "a.py", "--", "-p", "-1"], ["python", "a.py", "--", "-p", "AUTO"]),
        (["exec", "a", "--", "b", "--", "-g", "a100"], ["exec", "a", "--", "b", "--", "-g", "a100"]),
    ],
)  # fmt: skip
def test_the_command_takes_the_originals_words(given: list[str], made: list[str]) -> None:
    assert cli.translate(given) == made


def test_what_the_command_leaves_out_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    cli.translate(["python", "a.py", "--", "--no_checksum"])
    assert capsys.readouterr().err == "hfai: --no_checksum is left out: nothing is copied to the cluster\n"


def test_the_command_is_hai(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("hai ")


def test_priorities_are_those_of_hai() -> None:
    for name, number in vars(EXP_PRIORITY).items():
        if name.isupper():
            level = words_.names.parse_priority(NEAREST.get(name, name))
            assert words_.names.parse_priority(NEAREST.get(str(number), str(number))) == level
            assert EXP_PRIORITY.get_name_by_value(number) == name
    assert EXP_PRIORITY.get_name_by_value(31) == "AUTO"


@pytest.mark.parametrize(
    ("text", "found"), [("0-3,8\n", {0, 1, 2, 3, 8}), ("5", {5}), ("", set()), ("0-1,4-5", {0, 1, 4, 5})]
)
def test_lists_of_processors_are_read(text: str, found: set[int]) -> None:
    assert _numa.parse(text) == found


def nodes_in(folder: Path, *lists: str) -> Path:
    for number, text in enumerate(lists):
        (folder / f"node{number}").mkdir()
        (folder / f"node{number}" / "cpulist").write_text(text)
    return folder


def test_trainers_are_dealt_out_over_the_nodes_in_order(tmp_path: Path) -> None:
    shares = _numa.read(nodes_in(tmp_path, "0-3", "4-7"))
    assert [_numa.share_of(index, 8, shares) for index in range(8)] == [{0, 1, 2, 3}] * 4 + [{4, 5, 6, 7}] * 4
    assert [_numa.share_of(index, 1, shares) for index in range(2)] == [{0, 1, 2, 3}, {4, 5, 6, 7}]


def test_a_machine_of_one_node_is_left_as_it_is(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    _numa.bind(0, 2, nodes_in(tmp_path, "0-4095"))
    _numa.bind(0, 2, tmp_path / "absent")
    assert os.sched_getaffinity(0) == before


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
