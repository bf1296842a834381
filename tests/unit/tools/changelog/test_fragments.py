from __future__ import annotations

from pathlib import Path

import pytest

from changelog.fragments import LONGEST, BadFragment, Fragment, read, release

GOOD = {"gpu-shares.user.md": "Tasks share a GPU.\n", "README.md": "# Fragments"}
MUST = {"keys.must.md": "Make new keys first.", "keys.must.zh.md": "请先生成新密钥。"}


def folder(tmp_path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_fragments_are_read_by_name_and_kind(tmp_path: Path) -> None:
    assert read(folder(tmp_path, GOOD | MUST)) == [
        Fragment("gpu-shares", "user", "Tasks share a GPU."),
        Fragment("keys", "must", "Make new keys first.", "请先生成新密钥。"),
    ]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"gpu.news.md": "x"}, "gpu.news.md: name it NAME.KIND.md"),
        ({"GPU shares.user.md": "x"}, "GPU shares.user.md: name it"),
        ({"gpu.user.txt": "x"}, "gpu.user.txt: name it"),
        ({"gpu.user.md": " \n"}, "gpu.user.md: write one line"),
        ({"gpu.user.md": "one\ntwo"}, "gpu.user.md: write one line"),
        ({"gpu.user.md": "of \ufffd"}, "gpu.user.md: write one line of UTF-8"),
        ({"gpu.user.md": "x" * (LONGEST + 1)}, f"1 to {LONGEST} characters"),
        ({"gpu.user.md": "- x"}, "begins with -"),
        ({"keys.must.md": "x"}, "write it in Chinese too, in keys.must.zh.md"),
        ({"keys.must.md": "x", "keys.must.zh.md": "in English"}, "write it in Chinese too"),
        ({"keys.must.zh.md": "请先生成新密钥。"}, "its English text, keys.must.md, is missing"),
        ({"gpu.user.md": "x", "gpu.user.zh.md": "共享"}, "only must needs two languages"),
    ],
)
def test_a_fragment_that_cannot_be_used_is_named_with_its_remedy(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    with pytest.raises(BadFragment) as refused:
        read(folder(tmp_path, files))
    assert said in str(refused.value)


def test_a_release_begins_with_what_must_be_done_in_both_languages(tmp_path: Path) -> None:
    text = release(read(folder(tmp_path, GOOD | MUST)), "0.2.0", "2027-01-31")
    assert text == (
        "## 0.2.0 (2027-01-31)\n\n"
        "### Before you upgrade\n\n- Make new keys first.\n\n"
        "### 升级之前\n\n- 请先生成新密钥。\n\n"
        "### For users\n\n- Tasks share a GPU.\n"
    )


def test_a_release_without_fragments_is_a_heading() -> None:
    assert release([], "0.2.1", "2027-02-01") == "## 0.2.1 (2027-02-01)\n"
