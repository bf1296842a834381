"""Locks: only hashes that the user's own lock names, and packages that come from one index alone."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from haienv.building.resolving import Wanted, held, resolve
from haienv.building.uv import Uv
from haienv.shared.errors import BuildFailed
from haienv.store.lockfile import packages

A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"


class FakeUv:
    """Answers with a lock, and keeps what it was asked."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[tuple[list[str], str, dict[str, Any]]] = []

    def run(self, words: Sequence[str], *, stdin: str = "", doing: str) -> str:
        project = tomllib.loads(Path(words[2]).read_text()) if words[2] != "-" else {}
        self.asked.append((list(words), stdin, project))
        return self.text


def resolved(uv: FakeUv, wanted: Wanted) -> str:
    return resolve(cast("Uv", uv), Path("/python"), wanted)


def test_a_lock_has_only_the_hashes_that_were_named() -> None:
    text = f"NumPy==2.1 \\\n    --hash={A} \\\n    --hash={B}\nsix==1 \\\n    --hash={A}\n"
    uv = FakeUv(text)
    assert resolved(uv, Wanted(requirements=[f"numpy==2.1 ; python_version > '3' --hash={B}", "six"])) == (
        f"NumPy==2.1 \\\n    --hash={B}\nsix==1 \\\n    --hash={A}\n"
    )
    assert uv.asked[0][1] == "numpy==2.1 ; python_version > '3'\nsix\n"
    assert resolved(uv, Wanted(requirements=["numpy", "six"])) == text


def test_a_package_whose_files_are_others_than_the_lock_says_is_refused() -> None:
    with pytest.raises(BuildFailed, match=r"numpy==2.1: the index has other files"):
        held(f"numpy==2.1 \\\n    --hash={A}\n", {"numpy": {B}})


def test_a_package_comes_from_its_index_even_where_only_another_one_asks_for_it() -> None:
    uv = FakeUv(f"timm==1 \\\n    --hash={A}\ntorch==2+cpu \\\n    --hash={A}\n")
    address = "https://torch.example/whl"
    text = resolved(uv, Wanted(requirements=["timm"], packages={"torch": address, "jax": "https://jax.example"}))
    assert packages(text) == {"timm": "1", "torch": "2+cpu"}
    first, second = (project for _, _, project in uv.asked)
    assert first["project"]["dependencies"] == ["timm"]
    assert second["project"]["dependencies"] == ["timm", "torch"]
    assert second["tool"]["uv"]["sources"] == {"torch": {"index": "own-0"}}
    assert second["tool"]["uv"]["index"][0] == {"name": "own-0", "url": address, "explicit": True}
