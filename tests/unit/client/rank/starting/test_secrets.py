"""The secrets of a rank: what its command gets of them, and what is left of them afterwards."""

from __future__ import annotations

import base64
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest

from hai_client.linux import identity
from hai_client.rank.starting import secrets
from hai_client.rank.starting.command import CannotStart
from hai_client.rank.starting.secrets import FILE, RankSecrets, folder_of, remove_folder
from hai_client.rank.starting.spec import RUN_DIR, BadSpec


class OneSpec:
    has_secrets = True


def item(name: str, value: bytes, **place: str) -> dict[str, Any]:
    return {"name": name, "value": base64.b64encode(value).decode(), **place}


def file_with(folder: Path, *items: dict[str, Any]) -> RankSecrets:
    (folder / FILE).write_text(json.dumps({"schema": 1, "secrets": items}))
    return RankSecrets.load(str(folder), OneSpec())  # type: ignore[arg-type]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


def test_variables_go_to_the_command_and_the_file_goes_away(tmp_path: Path) -> None:
    one = file_with(tmp_path, item("hf", "schlüssel".encode(), variable="HF_TOKEN"))
    env = {"HOME": "/nowhere"}
    one.begin(env, str(tmp_path / "files"), None)
    one.forget()
    assert env == {"HOME": "/nowhere", "HF_TOKEN": "schlüssel"}
    assert not (tmp_path / FILE).exists()
    assert not (tmp_path / "files").exists()
    one.end(None)


def test_files_are_in_memory_for_their_account_alone_and_links_lead_there(tmp_path: Path, home: Path) -> None:
    one = file_with(
        tmp_path,
        item("netrc", b"\0machine", path="~/.netrc"),
        item("kaggle", b"{}", path=str(home / "deep/er/kaggle.json")),
    )
    folder = tmp_path / "hai-secrets-x"
    one.begin({"HOME": str(home)}, str(folder), None)
    link = home / ".netrc"
    assert link.read_bytes() == b"\0machine"
    assert (home / "deep/er/kaggle.json").read_bytes() == b"{}"
    assert link.resolve().parent == folder.resolve()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o400}
    assert stat.S_IMODE((home / "deep/er").stat().st_mode) == 0o700
    one.end(None)
    assert not folder.exists()
    assert not link.is_symlink()
    assert not (home / "deep/er/kaggle.json").is_symlink()


def test_a_file_of_the_user_is_never_replaced(tmp_path: Path, home: Path) -> None:
    own = home / ".netrc"
    own.write_text("mine")
    one = file_with(tmp_path, item("netrc", b"x" * 9, path="~/.netrc"))
    with pytest.raises(
        CannotStart, match=r"there is a file .*\.netrc already.*remove it, or name another path"
    ) as told:
        one.begin({"HOME": str(home)}, str(tmp_path / "hai-secrets-x"), None)
    assert told.value.exit_code == 126
    one.end(None)
    assert own.read_text() == "mine"
    assert not (tmp_path / "hai-secrets-x").exists()


def test_a_link_of_the_user_is_never_replaced_either(tmp_path: Path, home: Path) -> None:
    (home / ".netrc").symlink_to(home / "elsewhere")
    one = file_with(tmp_path, item("netrc", b"x" * 9, path="~/.netrc"))
    with pytest.raises(CannotStart, match="there is a file"):
        one.begin({"HOME": str(home)}, str(tmp_path / "hai-secrets-x"), None)
    assert (home / ".netrc").is_symlink()


def two(tmp_path: Path, *values: bytes) -> list[RankSecrets]:
    made = []
    for number, value in enumerate(values):
        folder = tmp_path / f"rank-{number}"
        folder.mkdir()
        made.append(file_with(folder, item("netrc", value, path="~/.netrc")))
    return made


def test_ranks_of_one_home_share_a_link_and_each_holds_it(tmp_path: Path, home: Path) -> None:
    first, second = two(tmp_path, b"the same", b"the same")
    first.begin({"HOME": str(home)}, str(tmp_path / "hai-secrets-1"), None)
    second.begin({"HOME": str(home)}, str(tmp_path / "hai-secrets-2"), None)
    first.end(None)
    second.hold(None)
    assert (home / ".netrc").read_bytes() == b"the same"
    second.end(None)
    assert not (home / ".netrc").is_symlink()


def test_two_values_at_one_path_at_a_time_are_refused(tmp_path: Path, home: Path) -> None:
    first, second = two(tmp_path, b"the one", b"the other")
    first.begin({"HOME": str(home)}, str(tmp_path / "hai-secrets-1"), None)
    with pytest.raises(CannotStart, match="another task that runs here now") as told:
        second.begin({"HOME": str(home)}, str(tmp_path / "hai-secrets-2"), None)
    assert "the one" not in str(told.value)
    second.end(None)
    assert (home / ".netrc").read_bytes() == b"the one"


def test_a_link_of_a_rank_that_was_killed_is_taken_over(tmp_path: Path, home: Path) -> None:
    first, second = two(tmp_path, b"the one", b"the other")
    first.begin({"HOME": str(home)}, str(tmp_path / "hai-secrets-1"), None)
    remove_folder(str(tmp_path / "hai-secrets-1"))
    second.begin({"HOME": str(home)}, str(tmp_path / "hai-secrets-2"), None)
    assert (home / ".netrc").read_bytes() == b"the other"
    first.end(None)
    assert (home / ".netrc").read_bytes() == b"the other", "it is not the first one's any more"


def test_a_folder_that_was_left_is_emptied_and_one_with_a_link_in_its_place_is_refused(
    tmp_path: Path, home: Path
) -> None:
    (one,) = two(tmp_path, b"the one")
    folder, victim = tmp_path / "hai-secrets-1", tmp_path / "victim"
    folder.mkdir(mode=0o777)
    (folder / "left").write_text("x")
    one.begin({"HOME": str(home)}, str(folder), None)
    assert not (folder / "left").exists()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    one.end(None)
    victim.mkdir()
    (victim / "file").write_text("x")
    folder.symlink_to(victim)
    with pytest.raises(CannotStart, match="a file of the task's secrets cannot be made"):
        one.begin({"HOME": str(home)}, str(folder), None)
    remove_folder(str(folder))
    assert (victim / "file").exists()


def test_the_folder_is_in_memory_and_follows_from_the_rank(tmp_path: Path, monkeypatch) -> None:
    assert folder_of("/a/1/0") == folder_of("/a/1/0")
    assert folder_of("/a/1/0") != folder_of("/a/1/1")
    assert folder_of(RUN_DIR) == "/dev/shm/hai-secrets-rank"
    monkeypatch.setattr(secrets, "MEMORY", str(tmp_path / "none"))
    assert folder_of("/a/1/0").startswith("/a/1/0/hai-secrets-")


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "[]",
        '{"schema": 2, "secrets": []}',
        '{"schema": 1}',
        '{"schema": 1, "secrets": [{"name": "a"}]}',
        '{"schema": 1, "secrets": [{"name": "a", "value": "/w==", "variable": "A"}]}',
        '{"schema": 1, "secrets": [7]}',
    ],
)
def test_a_file_that_cannot_be_read_starts_nothing_and_is_not_quoted(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / FILE).write_text(content)
    with pytest.raises(BadSpec, match="the task is started again in a new run") as told:
        RankSecrets.load(str(tmp_path), OneSpec())  # type: ignore[arg-type]
    assert "/w==" not in str(told.value)


def test_a_rank_without_secrets_needs_no_file(tmp_path: Path) -> None:
    class Without:
        has_secrets = False

    one = RankSecrets.load(str(tmp_path), Without())  # type: ignore[arg-type]
    env = {"A": "1"}
    one.begin(env, str(tmp_path / "x"), None)
    one.hold(None)
    one.end(None)
    assert env == {"A": "1"}
    assert one.values == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="another account needs root")
def test_another_account_owns_its_files_and_no_link_of_it_leads_the_platform_astray() -> None:
    nobody = identity.account_named("nobody")
    assert nobody is not None
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        top = Path(place)
        top.chmod(0o711)
        home, rank, victim = top / "home", top / "rank", top / "victim"
        for folder in (home, rank, victim):
            folder.mkdir(mode=0o700)
        (victim / "file").touch()
        os.chown(home, nobody.uid, nobody.gid)
        # A folder that the account has prepared: only in a place where all may write could it do so.
        memory = top / "hai-secrets-x"
        memory.mkdir()
        os.chown(memory, nobody.uid, nobody.gid)
        one = file_with(rank, item("netrc", b"the value", path="~/.netrc"))
        one.begin({"HOME": str(home)}, str(memory), nobody)
        (kept,) = memory.iterdir()
        assert (kept.stat().st_uid, stat.S_IMODE(kept.stat().st_mode)) == (nobody.uid, 0o400)
        assert (home / ".netrc").lstat().st_uid == nobody.uid
        one.end(nobody)
        assert not (home / ".netrc").is_symlink()
        # What is the platform's own is not taken for the account's.
        other = top / "hai-secrets-y"
        other.mkdir(mode=0o755)
        with pytest.raises(CannotStart, match="it belongs to another account"):
            file_with(rank, item("netrc", b"the value", path="~/.netrc")).begin({"HOME": str(home)}, str(other), nobody)
        # A path to which the account has no right.
        with pytest.raises(CannotStart, match=r"cannot be made:.*Permission denied; correct its path"):
            file_with(rank, item("n", b"the value", path=f"{victim}/x")).begin({}, str(top / "hai-secrets-z"), nobody)
