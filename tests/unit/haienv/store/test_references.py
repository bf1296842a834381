"""References: what is written counts until it is released, and from whom it is says its folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from haienv.shared.errors import Damaged, Missing, Wrong
from haienv.store.layout import EnvFolder
from haienv.store.names import EnvName, Owner
from haienv.store.references import folder_for, hold, processes_in, release, use, uses
from kit.waiting import wait_for


@pytest.fixture
def env(tmp_path: Path) -> EnvFolder:
    made = EnvFolder(tmp_path, EnvName(Owner("users", "ann"), "vision"))
    for number in (1, 2):
        made.generation(number).folder.mkdir(parents=True)
        made.generation(number).manifest.write_text("{}")
    return made


def test_references_of_all_three_places_count_until_they_are_released(env: EnvFolder) -> None:
    one, two = env.generation(1), env.generation(2)
    service, bob = folder_for(env.root, None), folder_for(env.root, "bob")
    hold(service, "task-7", use(one, env.name, "task", "task digits (7)"), one)
    hold(bob, "k1", use(two, env.name, "kernel", "kernel of a notebook"), two)
    hold(env.references, "keep-2", use(two, env.name, "keep", "`haienv keep`"), two)
    hold(bob, "other", use(two, "users/ann/other", "keep", "other"), two)
    assert [(found.generation, str(found)) for found in uses(env)] == [
        (1, "task digits (7)"), (2, "`haienv keep` of ann"), (2, "kernel of a notebook of bob"),
    ]  # fmt: skip
    assert release(bob, "k1")
    assert not release(bob, "k1")
    assert release(service, "task-7")
    assert [found.writer for found in uses(env)] == ["ann"]


def test_one_whose_time_is_over_does_not_count(env: EnvFolder) -> None:
    one = env.generation(1)
    for ident, until in (("over", "2020-01-01T00:00:00Z"), ("not", "2999-01-01T00:00:00Z")):
        hold(folder_for(env.root, None), ident, use(one, env.name, "task", ident, until=until), one)
    assert [found.what for found in uses(env)] == ["not"]


def test_a_generation_that_is_gone_cannot_be_held(env: EnvFolder) -> None:
    gone = env.generation(3)
    with pytest.raises(Missing, match="no generation 3"):
        hold(env.references, "keep-3", use(gone, env.name, "keep", "x"), gone)
    assert uses(env) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"environment": 3}', '{"environment": "x", "generation": "1"}'])
def test_a_damaged_one_stops_removals_unless_another_user_wrote_it(env: EnvFolder, text: str) -> None:
    bob, service = folder_for(env.root, "bob"), folder_for(env.root, None)
    for folder in (bob, service):
        folder.mkdir(parents=True)
    (bob / "x.json").write_text(text)
    assert uses(env) == []
    (service / "x.json").write_text(text)
    with pytest.raises(Damaged, match=r"service/x\.json"):
        uses(env)


@pytest.mark.parametrize("ident", ["../x", "", "a/b", ".x"])
def test_an_id_is_no_path(env: EnvFolder, ident: str) -> None:
    one = env.generation(1)
    with pytest.raises(Wrong, match=r"^reference: "):
        hold(env.references, ident, use(one, env.name, "keep", "x"), one)


def test_a_kind_is_one_of_three(env: EnvFolder) -> None:
    with pytest.raises(Wrong, match="'x' is not one of task, kernel, keep"):
        use(env.generation(1), env.name, "x", "x")


def test_a_command_in_an_activated_environment_does_not_use_it_itself(tmp_path: Path) -> None:
    ask = "import sys; from pathlib import Path; from haienv.store.references import processes_in; "
    ask += "print(processes_in(Path(sys.argv[1])))"
    activated = {"VIRTUAL_ENV": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    said = subprocess.run([sys.executable, "-c", ask, str(tmp_path)], env=activated, capture_output=True, check=True)
    assert said.stdout.strip() == b"[]"
    with subprocess.Popen(["sleep", "60"], env={**activated, "PATH": "/usr/bin:/bin"}) as other:
        try:
            # Popen returns as soon as its pipe is closed: a little before the kernel shows the variables.
            wait_for("its variables", lambda: processes_in(tmp_path) == [f"process {other.pid}"])
        finally:
            other.kill()
