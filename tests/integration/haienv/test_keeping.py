"""What becomes of environments: kept, removed, renamed, exported, imported; and the original's commands."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from .conftest import World, make_wheel

TASK = {
    "schema": 1, "environment": "users/ann/vision", "generation": 1, "kind": "task", "what": "task digits (42)",
    "since": "2026-01-01T00:00:00Z", "until": None,
}  # fmt: skip


def refer(world: World, ident: str, **facts: object) -> Path:
    path = world.root / "references" / "service" / f"{ident}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(TASK | facts))
    return path


def test_gc_and_remove_leave_what_tasks_use_and_what_is_kept(world: World) -> None:
    world.create("vision", "alpha==1.0")
    for number, package in enumerate(("alpha==2.0", "beta", "gamma")):
        world.haienv("install", "vision", package, *(["alpha<2"] if number == 2 else []))
    task = refer(world, "task-42")
    world.haienv("keep", "vision@2", "--why", "the paper")
    done = world.json("gc", "--keep", "0")
    assert [one["generation"] for one in done["removed"]] == [3]
    assert [(one["generation"], one["by"]) for one in done["kept"]] == [
        (1, ["task digits (42)"]), (2, ["`haienv keep`: the paper of ann"]),
    ]  # fmt: skip
    status, message = world.fails("remove", "vision")
    assert status == 2
    assert "task digits (42) (@1), `haienv keep`: the paper of ann (@2)" in message
    assert world.version("vision@1", "alpha") == "1.0"
    task.unlink()
    assert world.json("unkeep", "vision@2")["was_kept"] is True
    assert world.json("unkeep", "vision@2")["was_kept"] is False
    world.haienv("remove", "vision")
    assert list((world.root / "users" / "ann").iterdir()) == []


def test_nothing_is_removed_where_it_is_not_certain_what_is_used(world: World) -> None:
    world.create("vision", "alpha==1.0")
    world.haienv("install", "vision", "alpha==2.0")
    refer(world, "task-42").write_text("{")
    for words in (["gc", "vision", "--keep", "0"], ["remove", "vision"]):
        status, message = world.fails(*words)
        assert (status, "task-42.json" in message) == (1, True)
    assert world.json("show", "vision")["generations"] == [1, 2]


def test_an_environment_gets_another_name(world: World) -> None:
    world.create("vision", "alpha==1.0")
    world.haienv("install", "vision", "alpha==2.0")
    world.create("two", "--extend", "vision")
    status, message = world.fails("rename", "vision", "sight")
    assert (status, "users/ann/two extends users/ann/vision" in message) == (2, True)
    world.haienv("remove", "two")
    digest = world.json("show", "vision")["digest"]
    world.haienv("rename", "vision", "sight")
    shown = world.json("show", "sight")
    assert (shown["name"], shown["digest"], shown["generations"]) == ("users/ann/sight", digest, [1, 2])
    assert "as it was built" in world.haienv("doctor", "sight@1")
    assert world.haienv("run", "sight", "--", "python", "-c", "import sys; print(sys.prefix)") == f"{shown['prefix']}\n"
    assert [one["name"] for one in world.json("list")["items"]] == ["users/ann/sight"]
    world.create("vision", "alpha==1.0")
    for words, says in (
        (["rename", "vision", "sight"], "users/ann/sight exists"),
        (["rename", "vision", "base/vision"], "cannot become one of base"),
        (["rename", "vision", "../x"], "write NAME"),
        (["rename", "none", "x"], "there is no users/ann/none"),
    ):
        assert says in world.fails(*words)[1]
    refer(world, "task-42")
    assert "task digits (42)" in world.fails("rename", "vision", "x")[1]


def test_a_kernel_moves_with_its_environment(world: World) -> None:
    world.create("vision", "alpha==1.0")
    spec = world.root / "users" / "ann" / "vision" / "env.toml"
    spec.write_text(spec.read_text().replace("kernel = false\n", ""))
    make_wheel(world.wheels, "ipykernel", "6.0")
    world.haienv("rebuild", "vision")
    world.haienv("rename", "vision", "sight")
    folder = world.root / "users" / "ann" / "sight" / "generations" / "2"
    kernel = json.loads((folder / "kernel" / "kernel.json").read_text())
    assert kernel["argv"][0] == str(folder / "prefix" / "bin" / "python")
    assert kernel["display_name"].startswith("sight")


def test_an_archive_has_the_whole_environment(world: World, tmp_path: Path) -> None:
    world.create("vision", "alpha==1.0", "beta", "--variable", "THREADS=4")
    file = tmp_path / "vision.tar.gz"
    made = world.json("export", "vision", str(file))
    # No index and no wheels: all is in the archive. The digest names the Python, so it is the same one here.
    path = f"{Path(sys.executable).resolve().parent}:{os.environ['PATH']}"
    imported = world.haienv("import", "copy", str(file), "--digest", made["contents"], UV_FIND_LINKS="", PATH=path)
    assert "users/ann/copy@1" in imported
    assert world.version("copy", "beta") == "1.0"
    one, two = world.json("show", "vision"), world.json("show", "copy")
    assert (one["lock"], one["packages"], one["variables"]) == (two["lock"], two["packages"], two["variables"])
    assert (one["digest"], one["files"]) == (two["digest"], two["files"]), "the same files, so the same digest"
    assert "as it was built" in world.haienv("doctor", "copy")
    assert world.haienv("run", "copy", "--", "sh", "-c", "echo $THREADS") == "4\n"
    world.haienv("install", "copy", "alpha==2.0")
    with tarfile.open(file) as archive:
        assert {member.type for member in archive} <= {tarfile.REGTYPE, tarfile.SYMTYPE}
    for words, says in (
        (["export", "vision", str(file)], "exists"),
        (["export", "vision", str(tmp_path / "x.zip")], "none of the endings"),
        (["import", "copy", str(file)], "users/ann/copy exists"),
        (["import", "third", str(file), "--digest", "sha256:00"], "it is another one"),
        (["import", "third", str(tmp_path / "none")], "there is no"),
        (["import", "third", __file__], "no archive of an environment"),
    ):
        assert says in world.fails(*words)[1]
    assert not (world.root / "users" / "ann" / "third").exists(), "nothing half done"


def test_an_archive_that_was_changed_is_refused(world: World, tmp_path: Path) -> None:
    world.create("vision", "alpha==1.0")
    world.haienv("export", "vision", str(tmp_path / "whole.tar"))
    with tarfile.open(tmp_path / "whole.tar") as whole, tarfile.open(tmp_path / "evil.tar", "w") as evil:
        for member in whole:
            data = whole.extractfile(member)
            if member.name.endswith("alpha/__init__.py"):
                text = b"VERSION = '6.6'\n"
                assert len(text) <= member.size + 10
                member.size = len(text)
                data = io.BytesIO(text)
            evil.addfile(member, data)
    status, message = world.fails("import", "copy", str(tmp_path / "evil.tar"))
    assert (status, "differ from its digest" in message) == (1, True), message
    (tmp_path / "cut.tar").write_bytes((tmp_path / "whole.tar").read_bytes()[:30000])
    assert "Traceback" not in world.fails("import", "copy", str(tmp_path / "cut.tar"))[1]
    assert [one["name"] for one in world.json("list")["items"]] == ["users/ann/vision"]


def test_settings_say_where_packages_come_from(world: World) -> None:
    own = {"XDG_CONFIG_HOME": str(world.place / "config"), "UV_FIND_LINKS": ""}
    assert world.call("create", "vision", "alpha==1.0", "--no-kernel", **own)[0] == 1
    world.haienv("config", "append", "find_links", str(world.wheels), **own)
    env = {name: value for name, value in own.items() if name != "UV_FIND_LINKS"}
    assert str(world.wheels) in world.haienv("config", "show", **env)
    shown = json.loads(world.haienv("config", "show", "--json", **env))
    assert shown["settings"] == {"find_links": [str(world.wheels)]}
    world.haienv("config", "clear", "find_links", **env)
    assert json.loads(world.haienv("config", "show", "--json", **env))["settings"] == {}
    world.haienv("config", "set", "link_mode", "copy", "--root")
    assert (world.root / "config.toml").read_text().endswith('link_mode = "copy"\n')
    _, message = world.fails("config", "append", "indexes", "https://ann:hunter2@pypi.example.org/simple")
    assert "hunter2" not in message
    assert "netrc" in message
    assert "hunter2" not in world.fails("create", "x", "--index", "https://hunter2@pypi.example.org/simple")[1]
    assert "hunter2" not in world.fails("create", "x", "alpha @ https://ann:hunter2@x.org/alpha.whl")[1]


def test_the_commands_and_variables_of_the_original_are_answered(world: World) -> None:
    world.haienv(
        "create", "vision", "--no_extend", "-p", "3.11", "--no-kernel", "--extra-environment", "TEMP=temp", "alpha"
    )
    env = {"HAIENV_ROOT": "", "HAIENV_PATH": str(world.root)}
    listed = json.loads(world.haienv("list", "-u", "ann", "-a", "-o", "json", **env))
    assert [one["name"] for one in listed["items"]] == ["users/ann/vision"]
    assert "TEMP=temp" in world.haienv("config", "show", "-n", "vision", **env)
    world.haienv("config", "append", "-n", "vision", "-k", "extra-environment", "-v", "MORE=1")
    assert world.haienv("run", "vision", "--", "sh", "-c", "echo $TEMP $MORE $HF_ENV_NAME") == "temp 1 vision\n"
    assert world.haienv("run", "vision@1", "--", "sh", "-c", "echo $TEMP $MORE") == "temp\n", (
        "a generation keeps its own"
    )
    world.haienv("config", "clear", "-n", "vision", "-k", "extra-environment")
    assert world.haienv("run", "vision", "--", "sh", "-c", "echo $TEMP") == "\n"
    for words in (
        ["config", "append", "-n", "vision", "-k", "extra-search-dir", "-v", "/tmp/x"],
        ["create", "x", "--extra-search-dir", "/tmp/x"],
        ["create", "x", "--extra-search-bin-dir", "/tmp/x"],
    ):
        status, message = world.fails(*words)
        assert (status, "can change under a task" in message) == (2, True)
    script = world.place / "train.py"
    script.write_text("import haienv\nhaienv.set_env()\nimport alpha\nprint(alpha.VERSION)\n")
    done = subprocess.run(
        [sys.executable, str(script)], env=world.env | {"HF_ENV_NAME": "vision", "HF_ENV_OWNER": "ann"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "2.0\n", done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_completion_script(world: World, shell: str) -> None:
    assert "haienv __complete" in world.haienv("completion", shell)


def test_words_are_completed(world: World) -> None:
    world.create("vision", "alpha==1.0")
    world.create("base/torch", "alpha==1.0")
    assert world.haienv("__complete", "--", "ren").split() == ["rename"]
    assert world.haienv("__complete", "--", "show", "").split() == ["base/torch", "vision"]
    assert world.haienv("__complete", "--", "share", "vision", "--g").split() == ["--group"]
    assert world.haienv("__complete", "--", "config", "cl").split() == ["clear"]
    assert world.haienv("__complete", "--", "create", "x", "--extend", "b").split() == ["base/torch"]
    assert world.haienv("__complete", "--", "completion", "z").split() == ["zsh"]
