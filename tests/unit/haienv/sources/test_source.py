"""Texts of files, and lines in them for messages."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from haienv.shared.errors import Wrong
from haienv.sources.source import Source, check_shape, joined, line_of, text_of
from unit.haienv.sources.files_kit import read


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match=r"x\.txt: there is no such file"):
        read(tmp_path / "x.txt")
    with pytest.raises(Wrong, match="is a folder; name the file in it"):
        read(tmp_path)
    (tmp_path / "latin.txt").write_bytes(b"numpy # \xe4\n")
    with pytest.raises(Wrong, match="byte 8: is not UTF-8"):
        read(tmp_path / "latin.txt")
    (tmp_path / "torn.txt").write_bytes(codecs.BOM_UTF16_LE + b"n\0u")
    with pytest.raises(Wrong, match=r"is not UTF-16.*; save the file as UTF-8"):
        read(tmp_path / "torn.txt")


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("name", "text"),
    [("requirements.txt", "numpy\r\n"), ("environment.yml", "dependencies:\r\n- a\r\n- pip:\r\n  - numpy\r\n"),
     ("pyproject.toml", "[project]\r\ndependencies = ['numpy']\r\n")],
)  # fmt: skip
def test_a_byte_order_mark_tells_the_encoding(tmp_path: Path, mark: bytes, encoding: str, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(mark + text.encode(encoding))
    assert read(tmp_path / name).requirements == ("numpy",)


def test_several_files_ask_for_all_that_each_asks_for() -> None:
    one = Source(
        requirements=("a", "b"), constraints=("c<1",), python=">=3.9", indexes=("https://x", "https://y"),
        conda=("numpy",), channels=("conda-forge",), variables={"A": "1", "B": "1"},
    )  # fmt: skip
    two = Source(
        requirements=("a",), python="<3.13", indexes=("https://y", "https://z"), channels=("own", "conda-forge"),
        variables={"B": "2"},
    )  # fmt: skip
    assert joined([one, Source(), two, Source(python=">=3.9")]) == Source(
        requirements=("a", "b", "a"), constraints=("c<1",), python=">=3.9,<3.13",
        indexes=("https://x", "https://y", "https://z"), conda=("numpy",), channels=("conda-forge", "own"),
        variables={"A": "1", "B": "2"},
    )  # fmt: skip
    assert joined([]) == Source()


TEXT = "[project]\nname = 'x'\n  dynamic = ['name']\nnamed = 1\n"


@pytest.mark.parametrize(
    ("what", "line"),
    [("[project]", 1), ("name", 2), ("dynamic", 3), ("['name']", 3), ("named", 4), ("none", 1), ("", 1)],
)
def test_a_line_begins_with_a_word_or_else_has_it(what: str, line: int) -> None:
    assert line_of(TEXT, what) == line


def test_a_text_without_lines_has_one() -> None:
    assert line_of("", "x") == 1


def test_a_file_without_rights_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", refuse)
        with pytest.raises(Wrong, match="cannot be read: Permission denied; check its path and its rights"):
            text_of(tmp_path / "x.txt")


SHAPE = {"list": [{"text": str}], "table": {"inner": {"text": str}}}


@pytest.mark.parametrize(
    "value", [{}, {"other": 1}, {"list": []}, {"list": [{}, {"text": "x"}], "table": {"inner": {}}}]
)
def test_values_of_the_right_types_and_those_that_are_missing_are_fine(tmp_path: Path, value: object) -> None:
    check_shape(tmp_path, value, SHAPE)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"list": {}}, "list: is not a list"),
        ({"list": [{}, 1]}, r"list\[1\]: is not a table"),
        ({"list": [{"text": 1}]}, r"list\[0\]\.text: is not a text"),
        ({"table": {"inner": {"text": None}}}, r"table\.inner\.text: is not a text"),
    ],
)
def test_the_first_value_of_another_type_is_named(tmp_path: Path, value: object, says: str) -> None:
    with pytest.raises(Wrong, match=f"^{tmp_path}: {says}; write the file again with the tool that made it$"):
        check_shape(tmp_path, value, SHAPE)
