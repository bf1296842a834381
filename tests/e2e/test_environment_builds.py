"""Builds of environments by the platform, on `hai up`: each is a task, and everybody sees one list."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from e2e.conftest import Platform
from integration.haienv.conftest import World
from integration.haienv.conftest import world as world
from kit.waiting import wait_for

pytestmark = pytest.mark.e2e
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
#: What both lists say of an environment.
SAME = ("generation", "digest", "python", "size", "files", "cuda", "extends", "built_by", "kernel")


@pytest.fixture
def index(platform: Platform, world: World) -> Path:
    """The root of environments, whose builds take packages from an index of the test alone."""
    return use_index(platform, world)


def use_index(platform: Platform, world: World) -> Path:
    """Let all builds take packages from an index of the test alone; returns the root of environments."""
    root, simple = platform.state / "haienv", world.place / "simple"
    for name in ("alpha", "beta", "gamma"):
        page = simple / name / "index.html"
        page.parent.mkdir(parents=True)
        wheels = sorted(world.wheels.glob(f"{name}-*.whl"))
        page.write_text("".join(f'<a href="{wheel.as_uri()}">{wheel.name}</a>\n' for wheel in wheels))
    root.mkdir(exist_ok=True)
    settings = f'indexes = ["{simple.as_uri()}"]\ncache = "{platform.home}/cache"\n[python]\ndownloads = false\n'
    (root / "config.toml").write_text(settings)
    return root


def build(platform: Platform, *words: str, user: str = "ann") -> dict[str, Any]:
    """The task of a build, when it has ended."""
    task = platform.json("environments", "build", *words, user=user)["id"]

    def ended() -> dict[str, Any]:
        shown: dict[str, Any] = platform.json("status", str(task), user=user)
        return shown if shown["state"] in ("succeeded", "failed", "stopped") else {}

    return wait_for(f"build {words} to end", ended)


def log(platform: Platform, task: dict[str, Any], user: str = "ann") -> str:
    return platform.hai("logs", str(task["id"]), user=user).stdout


def listed(platform: Platform, user: str = "ann") -> dict[str, dict[str, Any]]:
    items = platform.json("environments", user=user)["items"]
    return {item["name"]: item["haienv"] for item in items if item["kind"] == "haienv"}


def terminal_of(platform: Platform) -> dict[str, str]:
    """The variables of haienv in a terminal where nothing but the login tells of the platform."""
    return {"HAIENV_ROOT": "", "HAIENV_USER": "", "XDG_CONFIG_HOME": platform.env["XDG_CONFIG_HOME"]}


def test_what_the_platform_builds_is_in_every_list_and_runs(platform: Platform, index: Path, world: World) -> None:
    done = build(platform, "create", "tools", "alpha==1.0", "--no-kernel", "--python", PYTHON)
    assert done["state"] == "succeeded", log(platform, done)
    assert done["tags"] == ["build", "users/ann/tools"]
    assert "Resolved 1 package" in log(platform, done), "the log has what uv says"
    assert "users/ann/tools@1: " in log(platform, done)
    done = build(platform, "create", "base/common", "alpha==2.0", "--no-kernel", "--python", PYTHON)
    assert done["state"] == "succeeded", log(platform, done)

    # `haienv` in a terminal says the same of the same environments: the root stands beside the login of `hai`.
    terminal = terminal_of(platform)
    status, out, err = world.call("list", "--json", **terminal)
    assert status == 0, err
    of_haienv = {one["name"]: {key: one[key] for key in SAME} for one in json.loads(out)["items"]}
    of_hai = {name: {key: facts[key] for key in SAME} for name, facts in listed(platform).items()}
    assert of_hai == of_haienv
    assert set(of_hai) == {"users/ann/tools", "base/common"}
    status, out, err = world.call("show", "tools", "--json", **terminal)
    assert status == 0, err
    shown = platform.json("environments", "show", "tools")
    assert (shown["packages"], shown["prefix"]) == (json.loads(out)["packages"], json.loads(out)["prefix"])

    # Every name of the list can be submitted with.
    for name, version in (("users/ann/tools", "1.0"), ("base/common", "2.0")):
        line = "import alpha; print('has', alpha.VERSION)"
        done_ = platform.hai("submit", "--name", "uses", "-f", "--environment", name, "--", "python", "-c", line)
        assert f"has {version}" in done_.stdout


def test_another_user_sees_base_builds_their_own_and_no_others(platform: Platform, index: Path) -> None:
    build(platform, "create", "private", "alpha==1.0", "--no-kernel", "--python", PYTHON)
    build(platform, "create", "base/shared", "alpha==1.0", "--no-kernel", "--python", PYTHON)
    done = build(platform, "create", "mine", "beta==1.0", "--no-kernel", "--python", PYTHON, user="bob")
    assert done["state"] == "succeeded", log(platform, done, "bob")
    seen = listed(platform, "bob")
    assert {"users/bob/mine", "base/shared"} <= set(seen)
    assert not [name for name in seen if name.startswith("users/ann/")]
    assert "users/bob/mine" not in listed(platform)
    assert (index / "users/bob/mine/current").is_symlink()
    for name in ("base/shared", "users/ann/private", "groups/cv/new"):
        refused = platform.hai("environments", "build", "install", name, "beta", user="bob", check=False)
        assert refused.returncode == 3, refused.stdout + refused.stderr


def test_a_build_that_fails_says_uvs_reason_and_changes_nothing(platform: Platform, index: Path) -> None:
    build(platform, "create", "broken", "alpha==1.0", "--no-kernel", "--python", PYTHON)
    before = listed(platform)["users/ann/broken"]
    done = build(platform, "install", "broken", "gamma==1.0", "alpha==2.0")
    assert done["state"] == "failed"
    text = log(platform, done)
    assert "gamma" in text
    assert "alpha<2" in text
    assert listed(platform)["users/ann/broken"] == before
    assert (index / "users/ann/broken/current").readlink() == Path("generations/1")


OVERRIDES = """
[[JupyterHub.load_roles]]
name = "cv-builders"
scopes = ["custom:hai:environments!group=cv"]
users = ["bob"]

[JupyterHub.load_groups.cv]
users = ["ann", "bob", "eve"]
"""


@pytest.fixture
def with_groups(tmp_path: Path) -> Iterator[Platform]:
    """A platform on which bob builds for the group cv, and eve is a member without that right."""
    overrides = tmp_path / "overrides.toml"
    overrides.write_text(OVERRIDES)
    made = Platform(tmp_path, nodes=1, options=("--hub-config", str(overrides)))
    try:
        made.start()
        yield made
    finally:
        made.end()


def token_of(platform: Platform, user: str) -> str:
    """A new token of a user whom the Hub's configuration has made, with all rights of theirs."""
    asked = Request(
        f"{platform.url}/hub/api/users/{user}/tokens",
        data=b"{}",
        headers={"Authorization": f"token {platform.token('ann')}", "Content-Type": "application/json"},
    )
    with urlopen(asked, timeout=30) as response:
        return str(json.load(response)["token"])


def test_a_role_of_the_hub_gives_the_right_to_build_for_a_group(with_groups: Platform, world: World) -> None:
    platform = with_groups
    use_index(platform, world)
    for user in ("bob", "eve"):
        platform.tokens[user] = token_of(platform, user)
    done = build(platform, "create", "groups/cv/vision", "alpha==1.0", "--no-kernel", "--python", PYTHON, user="bob")
    assert done["state"] == "succeeded", log(platform, done, "bob")
    for user in ("ann", "bob", "eve"):
        assert "groups/cv/vision" in listed(platform, user)
    refused = platform.hai("environments", "build", "rebuild", "groups/cv/vision", user="eve", check=False)
    assert refused.returncode == 3
    assert "custom:hai:environments!group=cv" in refused.stderr
    line = "import alpha; print('has', alpha.VERSION)"
    words = ("submit", "--name", "uses", "-f", "--environment", "vision", "--", "python", "-c", line)
    assert "has 1.0" in platform.hai(*words, user="eve").stdout


def test_what_is_created_in_a_plain_terminal_runs_as_a_task(platform: Platform, index: Path, world: World) -> None:
    terminal = terminal_of(platform)
    status, out, err = world.call("create", "plain", "alpha==1.0", "--no-kernel", "--python", PYTHON, **terminal)
    assert (status, "tasks do not find it" in err) == (0, False), err
    assert out.startswith("users/ann/plain@1: ")
    words = ("submit", "--env", "plain", "-f", "--", "python", "-c", "import alpha; print('alpha', alpha.VERSION)")
    assert "alpha 1.0" in platform.hai(*words).stdout
