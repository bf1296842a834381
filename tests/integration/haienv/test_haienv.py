"""The command haienv, as users call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

from .conftest import PATIENCE, ROOT, World, make_wheel


def test_an_environment_is_made_used_changed_compared_and_rolled_back(world: World) -> None:
    assert "users/ann/vision@1" in world.create("vision", "alpha==1.0")
    assert world.version("vision", "alpha") == "1.0"
    out = world.haienv("install", "vision", "alpha==2.0", "beta")
    assert "~ alpha 1.0 -> 2.0" in out
    assert "+ beta 1.0" in out
    assert world.version("vision", "alpha") == "2.0"
    assert world.version("vision@1", "alpha") == "1.0", "an earlier generation stays as it was"
    assert world.haienv("diff", "vision@1").splitlines() == ["~ alpha 1.0 -> 2.0", "+ beta 1.0"]
    world.haienv("rollback", "vision")
    assert world.version("vision", "alpha") == "1.0"
    world.haienv("install", "vision", "gamma")
    shown = world.json("show", "vision")
    assert (shown["generation"], shown["packages"]) == (3, {"alpha": "1.0", "gamma": "1.0"}), "a rollback is of all"


def test_nothing_is_built_where_nothing_has_changed(world: World) -> None:
    world.create("vision", "alpha==1.0")
    assert "stays" in world.haienv("install", "vision", "alpha==1.0")
    assert [one["generation"] for one in world.json("list")["items"]] == [1]


def test_extending_has_the_whole_base_at_its_versions(world: World) -> None:
    world.create("base/torch", "alpha==1.0")
    world.create("mine", "--extend", "base/torch", "beta")
    assert world.json("show", "mine")["packages"] == {"alpha": "1.0", "beta": "1.0"}
    assert world.json("show", "mine")["extends"] == "base/torch@1"
    status, message = world.fails("install", "mine", "alpha==2.0")
    assert status == 1
    assert "together with those of base/torch" in message
    assert world.version("mine", "alpha") == "1.0"


def test_the_same_lock_has_the_same_digest(world: World) -> None:
    world.create("one", "beta", "alpha==1.0")
    world.create("two", "beta", "alpha==1.0")
    one, two = world.json("show", "one"), world.json("show", "two")
    assert (one["digest"], one["lock"]) == (two["digest"], two["lock"])


def test_files_are_shared_by_hard_links_and_read_only(world: World) -> None:
    world.create("one", "alpha==1.0")
    world.create("two", "alpha==1.0")
    [first, second] = [
        next(Path(world.json("show", name)["prefix"]).glob("lib/*/site-packages/alpha/__init__.py"))
        for name in ("one", "two")
    ]
    assert first.stat().st_ino == second.stat().st_ino
    assert first.stat().st_mode & 0o222 == 0


def test_a_changed_file_is_found(world: World) -> None:
    world.create("vision", "alpha==1.0")
    assert "as it was built" in world.haienv("doctor", "vision")
    prefix = Path(world.json("show", "vision")["prefix"])
    file = next(prefix.glob("lib/*/site-packages/alpha/__init__.py"))
    file.chmod(0o644)
    file.write_text("VERSION = 'evil'\n")
    status, message = world.fails("doctor", "vision")
    assert (status, "differ from its manifest" in message) == (1, True)


def test_a_script_enters_its_environment_by_its_first_lines(world: World, tmp_path: Path) -> None:
    world.create("vision", "alpha==2.0")
    script = tmp_path / "train.py"
    script.write_text(
        "import haienv\nhaienv.set_env('vision')\nimport alpha, sys\nprint(alpha.VERSION, sys.argv[1:])\n"
    )
    done = subprocess.run(
        [sys.executable, str(script), "--lr", "1"], env=world.env, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.stdout == "2.0 ['--lr', '1']\n", done.stderr


def test_what_a_python_imports_whenever_it_starts_is_not_the_scripts_doing(world: World, tmp_path: Path) -> None:
    world.create("vision", "alpha==2.0")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    [packages] = (tmp_path / "venv").glob("lib/*/site-packages")
    for name in ("hook", "numbers_of_mine"):
        (packages / name).mkdir()
        (packages / name / "__init__.py").touch()
    (packages / "hook.pth").write_text("import hook\n")
    script = tmp_path / "train.py"
    for first, said in (("", "2.0\n"), ("import numbers_of_mine\n", "")):
        script.write_text(f"{first}import haienv\nhaienv.set_env('vision')\nimport alpha\nprint(alpha.VERSION)\n")
        done = subprocess.run(
            [str(tmp_path / "venv/bin/python"), str(script)], env=world.env, capture_output=True, text=True, check=False
        )
        assert done.stdout == said, done.stderr
        assert "hook" not in done.stderr
    assert "numbers_of_mine of another Python is imported already" in done.stderr


@pytest.mark.parametrize("linked", [False, True], ids=["script", "link of pipx or uv"])
def test_a_shell_is_in_the_environment_after_sourcing(world: World, linked: bool) -> None:
    world.create("vision", "alpha==2.0")
    # The script looks for its Python beside itself.
    place = world.place / "my bin"
    place.mkdir()
    (place / "haienv").write_text((ROOT / "haienv" / "scripts" / "haienv").read_text())
    (place / "haienv").chmod(0o755)
    (place / "python").symlink_to(sys.executable)
    on_path = place
    if linked:
        on_path = world.place / "linked"
        on_path.mkdir()
        (on_path / "haienv").symlink_to("../my bin/haienv")
    env = world.env | {"PATH": f"{on_path}:/usr/bin:/bin"}
    lines = """
        haienv list --json | grep -o users/ann/vision
        source haienv vision && python -c "import alpha; print(alpha.VERSION)"
        echo $HAIENV
        source haienv none
        echo $?
    """
    done = subprocess.run(["bash", "-c", lines], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["users/ann/vision", "2.0", "users/ann/vision@1", "1"], done.stderr


def test_a_script_of_the_originals_documentation_runs_as_it_is(world: World) -> None:
    """Its shell form with an owner, its variables, its lists, and a script that enters by its first lines."""
    place = world.place / "bin"
    place.mkdir()
    (place / "haienv").write_text((ROOT / "haienv" / "scripts" / "haienv").read_text())
    (place / "haienv").chmod(0o755)
    (place / "python").symlink_to(Path(sys.executable).parent / "python")
    # Its environments are kernels, as ours are by default.
    make_wheel(world.wheels, "ipykernel", "6.0")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    (world.place / "train.py").write_text(
        "import haienv\nhaienv.set_env('torch_cuda')\n\nimport alpha\nprint('trains with', alpha.VERSION)\n"
    )
    lines = f"""
        set -e
        haienv create torch_cuda --no_extend -p {version} --extra-environment NCCL_DEBUG=INFO
        haienv install torch_cuda alpha==1.0
        haienv list -o json | python -c "import json, sys; print([x['name'] for x in json.load(sys.stdin)['items']])"
        python train.py
        haienv share torch_cuda --all
        export HAIENV_USER=bob
        source haienv torch_cuda -u ann
        python -c "import alpha, os; print(alpha.VERSION, os.environ['HF_ENV_NAME'], os.environ['NCCL_DEBUG'])"
    """
    env = world.env | {"PATH": f"{place}:{os.environ['PATH']}", "HAIENV_UV": find_uv_bin()}
    done = subprocess.run(
        ["bash", "-c", lines], env=env, cwd=world.place, capture_output=True, text=True, check=False
    )  # fmt: skip
    said = [line for line in done.stdout.splitlines() if line.startswith(("[", "trains", "1.0"))]
    assert said == ["['users/ann/torch_cuda']", "trains with 1.0", "1.0 torch_cuda INFO"], done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["create", "../x"], 2, "is not a name"),
        (["create", "a..b/c"], 2, "write NAME, base/NAME"),
        (["install", "none", "alpha"], 1, "`haienv create none` makes it"),
        (["show", "visio"], 1, "do you mean users/ann/vision?"),
        (["show", "vision@9"], 1, "has no generation 9; it has 1"),
        (["install", "vision"], 2, "none is given"),
        (["install", "vision", "-e", "."], 2, "editable"),
        (["install", "vision", "omega"], 1, "omega was not found"),
        (["install", "vision", "alpha==1.0", "gamma", "alpha==2.0"], 1, "gamma"),
        (["install", "vision@1", "alpha"], 2, "generations never change"),
        (["create", "vision"], 2, "exists"),
        (["create", "x", "--extend", "none"], 1, "there is no 'none'"),
        (["create", "x", "--python", "2.7", "--no-kernel"], 1, "2.7"),
        (["run", "vision", "--"], 2, "none is given"),
        (["run", "vision", "--", "no-such-program"], 2, "no-such-program"),
        (["rollback", "vision"], 1, "no earlier generation"),
        (["frobnicate"], 2, "'frobnicate' is not known"),
        (["list", "--frob"], 2, "--frob"),
    ],
)
def test_what_is_wrong_is_named_and_changes_nothing(world: World, words: list[str], status: int, says: str) -> None:
    world.create("vision", "alpha==1.0")
    before = world.json("list")
    got, message = world.fails(*words)
    assert got == status, message
    assert says in message
    assert world.json("list") == before
    assert world.version("vision", "alpha") == "1.0"


def test_an_environment_cannot_extend_itself(world: World) -> None:
    world.create("one", "alpha==1.0")
    world.create("two", "--extend", "one")
    spec = world.root / "users" / "ann" / "one" / "env.toml"
    spec.write_text(f'extends = "users/ann/two"\n{spec.read_text()}')
    status, message = world.fails("rebuild", "one")
    assert (status, "users/ann/one extends users/ann/two extends users/ann/one: a cycle" in message) == (2, True), (
        message
    )


def test_two_builds_of_one_environment_come_one_after_the_other(world: World) -> None:
    world.create("vision", "alpha==1.0")
    processes = [world.start("install", "vision", name) for name in ("beta", "gamma")]
    for process in processes:
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    shown = world.json("show", "vision")
    assert shown["generation"] == 3
    assert sorted(shown["packages"]) == ["alpha", "beta", "gamma"], "neither was lost"


def test_who_builds_is_said_to_another(world: World) -> None:
    world.create("vision", "alpha==1.0")
    lock = world.root / "users" / "ann" / "vision" / "build.lock"
    words = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(words, env=world.env, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            _, message = world.fails("install", "vision", "beta", "--no-wait")
            assert f"(process {holder.pid}) does `install timm` since" in message
        finally:
            holder.kill()
    world.haienv("install", "vision", "beta", "--no-wait")


HOLDER = """
import sys, time
from pathlib import Path
from haienv.shared.locking import building
with building(Path(sys.argv[1]), "install timm", user="bob", wait_s=0, say=print):
    print("held", flush=True)
    time.sleep(600)
"""


def test_gc_keeps_what_is_current_and_what_is_used(world: World) -> None:
    world.create("vision", "alpha==1.0")
    words = [sys.executable, "-m", "haienv", "run", "vision", "--", "python", "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(words, env=world.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as used:
        try:
            assert used.stdout is not None
            assert used.stdout.readline() == "up\n"
            world.haienv("install", "vision", "alpha==2.0")
            world.haienv("install", "vision", "beta")
            assert "vision@2 is removed" in world.haienv("gc", "vision", "--keep", "0")
            assert world.json("show", "vision")["generations"] == [1, 3]
            status, message = world.fails("remove", "vision")
            assert (status, f"process {used.pid}" in message) == (2, True)
        finally:
            used.kill()
    world.haienv("install", "vision", "gamma", "alpha<2")
    assert world.json("show", "vision")["generation"] == 4
    world.haienv("remove", "vision")
    assert world.json("list")["items"] == []


def test_a_hundred_environments_are_listed_without_another_process(world: World) -> None:
    world.create("vision", "alpha==1.0")
    source = world.root / "users" / "ann" / "vision" / "generations" / "1" / "manifest.json"
    for number in range(100):
        folder = world.root / "groups" / "cv" / f"env{number}" / "generations" / "1"
        folder.mkdir(parents=True)
        facts = json.loads(source.read_text()) | {"name": f"groups/cv/env{number}"}
        (folder / "manifest.json").write_text(json.dumps(facts))
        (folder.parents[1] / "current").symlink_to("generations/1")
    assert len(world.json("list", "-a")["items"]) == 101
