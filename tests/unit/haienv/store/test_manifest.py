"""Manifests: what is written is read again, and what is wrong is named with its file."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from haienv.shared.errors import Damaged
from haienv.store.manifest import Manifest, parsed, read
from unit.haienv.envs_kit import a_manifest, env_of


def made(folder: Path, **changes: Any) -> Manifest:
    return a_manifest(env_of(folder), 7, **changes)


def test_what_is_written_is_read_again_and_changed_by_nobody(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    manifest = made(
        tmp_path, cuda="12.6", extends="base/torch@3", extends_digest="sha256:2", requirements=("six", "numpy>=2"),
        variables={"A": "1"}, kernel=True,
    )  # fmt: skip
    manifest.write(path)
    assert read(path) == manifest
    assert stat.S_IMODE(path.stat().st_mode) == 0o444


def test_a_manifest_of_an_older_haienv_has_no_variables(tmp_path: Path) -> None:
    data = data_of(tmp_path)
    del data["variables"]
    assert parsed(data, "m").variables == {}


def data_of(folder: Path) -> dict[str, Any]:
    made(folder).write(folder / "manifest.json")
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


OPTIONAL = ("cuda", "extends", "extends_digest")


@pytest.mark.parametrize(
    "name",
    ["name", "generation", "digest", "files", "size", "lock", "python", "interpreter", "machine", "glibc",
     "requirements", "built_by", "built_at", "kernel"],
)  # fmt: skip
@pytest.mark.parametrize("value", [None, {"a": 1}])
def test_a_field_that_is_missing_or_of_another_type_is_named(tmp_path: Path, name: str, value: object) -> None:
    data = data_of(tmp_path)
    with pytest.raises(Damaged, match=f"^m: {name} is missing or of the wrong type$"):
        parsed({**data, name: value}, "m")


@pytest.mark.parametrize("name", OPTIONAL)
def test_some_fields_may_say_nothing(tmp_path: Path, name: str) -> None:
    data = data_of(tmp_path)
    assert getattr(parsed({**data, name: None}, "m"), name) is None
    with pytest.raises(Damaged, match=name):
        parsed({**data, name: 5}, "m")


@pytest.mark.parametrize("variables", [[], "A=1", {"A": 1}])
def test_variables_are_texts(tmp_path: Path, variables: object) -> None:
    with pytest.raises(Damaged, match="m: variables are of the wrong type"):
        parsed({**data_of(tmp_path), "variables": variables}, "m")


@pytest.mark.parametrize("data", [None, [], "text", {}, {"schema": 2}, {"schema": "1"}])
def test_another_version_is_refused(data: object) -> None:
    with pytest.raises(Damaged, match="m: is of another version than 1: use a newer haienv"):
        parsed(data, "m")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"schema": 1'])
def test_a_file_that_was_cut_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(content)
    with pytest.raises(Damaged, match=f"^{path}: cannot be read: "):
        read(path)


def test_one_that_is_gone_is_told_from_a_damaged_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "manifest.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Damaged, match="cannot be read"):
        read(tmp_path / "folder")
