"""What a submission does with the draft of an environment: its changes are a generation before the task is pinned."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from hai_client import settings
from hai_scheduler.core.model.pins import Pin
from haienv.building import drafts
from haienv.store.layout import EnvFolder
from haienv.store.names import USERS, EnvName, Owner
from kit.haienv_folders import publish
from unit.client import fake_platform as fakes
from unit.client.conftest import Hai

MODULE = "lib/python3.11/site-packages/own.py"


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EnvFolder:
    """The environment `vision` of ann with one generation."""
    root = tmp_path / "root"
    python = os.path.realpath(sys.executable)
    pin = Pin(name="users/ann/vision", generation=1, digest="sha256:1", interpreter=python, python="3.11.7")
    folder = publish(root, pin)
    (folder / "prefix" / MODULE).parent.mkdir(parents=True)
    (folder / "prefix" / "pyvenv.cfg").touch()
    (folder / "requirements.lock").write_text("")
    (root / pin.name / "env.toml").write_text((folder / "env.toml").read_text())
    monkeypatch.setenv("HAIENV_ROOT", str(root))
    monkeypatch.setenv("HAIENV_USER", "ann")
    monkeypatch.setenv("HAIENV_GROUPS", "")
    return EnvFolder(root, EnvName(Owner(USERS, "ann"), "vision"))


@pytest.fixture
def draft(env: EnvFolder) -> Path:
    """Its draft, with a module that is in no generation."""
    prefix, _ = drafts.open_draft(env, say=print)
    (prefix / MODULE).write_text("X = 1\n")
    return prefix


def sent(platform: Any) -> dict[str, Any]:
    body: dict[str, Any] = platform.said("POST", "/tasks")[-1].body
    return body


def test_a_draft_with_changes_is_frozen_and_the_task_gets_that_generation(
    hai: Hai, platform: Any, env: EnvFolder, draft: Path
) -> None:
    result = hai("submit", "--env", "vision", "--", "python", "train.py")
    assert result.code == 0, result.err
    assert "froze the draft of vision as vision@2 (" in result.err
    assert sent(platform)["environment"] == "users/ann/vision@2"
    assert (env.generation(2).prefix / MODULE).read_text() == "X = 1\n"
    again = hai("submit", "--env", "vision", "--", "python", "train.py")
    assert "froze" not in again.err
    assert sent(platform)["environment"] == "vision"
    assert [one.number for one in env.generations()] == [1, 2]


def test_the_folder_of_the_platform_that_hai_is_logged_in_to_is_taken_without_a_variable(
    hai: Hai, platform: Any, env: EnvFolder, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.save(settings.Settings(platform.url, fakes.TOKEN, "ann", haienv_root=str(env.root)))
    for name in ("HAIENV_ROOT", "HAIENV_USER", "HAIENV_GROUPS"):
        monkeypatch.delenv(name)
    assert "froze the draft of vision as vision@2" in hai("submit", "--env", "vision", "--", "python", "train.py").err
    assert sent(platform)["environment"] == "users/ann/vision@2"


def test_an_environment_that_is_elsewhere_on_this_machine_is_named_where_the_platform_has_none(
    hai: Hai, platform: Any, env: EnvFolder
) -> None:
    def refuse(call: Any) -> None:
        if call.path.endswith("/tasks"):
            where = "environment: there is no 'vision' in users/alice and base below /srv/haienv"
            raise fakes.Refuse(400, "invalid", where)

    platform.before = [refuse] * 4
    result = hai("submit", "--env", "vision", "--", "python", "train.py")
    assert result.code == 2
    assert f"the one in {env.folder} is not where the platform has environments" in result.err
    assert "`hai environments build create vision ...` makes one there" in result.err
    other = hai("submit", "--env", "base/vision", "--", "python", "train.py")
    assert "the one in" not in other.err


def test_with_the_newest_at_each_start_the_draft_is_frozen_and_the_name_is_kept(
    hai: Hai, platform: Any, env: EnvFolder, draft: Path
) -> None:
    result = hai("submit", "--env", "vision", "--env-latest", "--", "python", "train.py")
    assert "froze the draft of vision as vision@2" in result.err
    assert (sent(platform)["environment"], sent(platform)["env_latest"]) == ("vision", True)
    assert env.current() == env.generation(2)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--no-freeze", "the draft of vision is not in the task (--no-freeze)"),
        ("--dry-run", "the draft of vision has changes: a submission freezes it first"),
    ],
)
def test_a_draft_is_left_alone_and_the_user_is_told(
    hai: Hai, env: EnvFolder, draft: Path, option: str, said: str
) -> None:
    assert said in hai("submit", option, "--env", "vision", "--", "python", "train.py").err
    assert [one.number for one in env.generations()] == [1]


def test_a_shell_or_a_notebook_in_the_draft_submits_what_is_in_it(
    hai: Hai, platform: Any, env: EnvFolder, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HAIENV_ROOT")
    monkeypatch.setenv("VIRTUAL_ENV", str(draft))
    monkeypatch.setenv("PATH", f"{draft}/bin{os.pathsep}{os.environ['PATH']}")
    assert "froze the draft of vision as vision@2" in hai("submit", "--", "python", "train.py").err
    body = sent(platform)
    assert (body["environment"], body["env"]) == ("users/ann/vision@2", {})
    (draft / MODULE).unlink()
    assert "is not in the task" in hai("submit", "--no-freeze", "--", "python", "train.py").err
    assert (sent(platform)["environment"], sent(platform)["env"]) == ("users/ann/vision", {})


def test_a_draft_that_cannot_be_frozen_refuses_the_submission_with_the_remedy(
    hai: Hai, platform: Any, env: EnvFolder, draft: Path, tmp_path: Path
) -> None:
    (draft / MODULE).with_name("mine.pth").write_text(f"{tmp_path}\n")
    result = hai("submit", "--env", "vision", "--", "python", "train.py")
    assert result.code == 2
    assert f"mine.pth of the draft uses {tmp_path}" in result.err
    assert "remove mine.pth" in result.err
    assert "--no-freeze" in result.err
    assert platform.said("POST", "/tasks") == []


@pytest.mark.parametrize("name", ["../vision", "vi sion"])
def test_a_name_that_is_none_is_not_blamed_on_a_draft(hai: Hai, env: EnvFolder, name: str) -> None:
    result = hai("submit", "--env", name, "--", "python", "train.py")
    assert result.code == 2
    assert "is not a name" in result.err
    assert "draft" not in result.err


def test_a_generation_that_is_named_is_taken_whatever_is_in_the_draft(
    hai: Hai, platform: Any, env: EnvFolder, draft: Path
) -> None:
    hai("submit", "--env", "vision@1", "--", "python", "train.py")
    assert sent(platform)["environment"] == "vision@1"
    assert [one.number for one in env.generations()] == [1]


def test_nothing_is_started_where_there_are_no_environments(
    hai: Hai, platform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HAIENV_ROOT", raising=False)

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr("hai_client.cli.submitting.drafts.subprocess.Popen", never)
    assert hai("submit", "--env", "vision", "--", "true").code == 0
    assert sent(platform)["environment"] == "vision"


def test_the_draft_of_somebody_else_is_left_alone(
    hai: Hai, env: EnvFolder, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAIENV_USER", "bob")
    (env.folder).chmod(0o755)
    result = hai("submit", "--env", "users/ann/vision", "--", "true")
    assert "users/ann/vision has an open draft of another user, which is not in the task" in result.err
    assert [one.number for one in env.generations()] == [1]
