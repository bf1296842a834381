"""Drafts: changed freely, frozen into generations that nothing changes any more."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from uv import find_uv_bin

from haienv.store import manifest as manifests

from .conftest import World, make_wheel


def pip(world: World, *words: str) -> None:
    """Run `uv pip` in the draft of `vision`, as its owner would."""
    world.haienv("run", "vision", "--draft", "--", find_uv_bin(), "pip", *words)


def draft_of(world: World) -> Path:
    return world.root / "users" / "ann" / "vision" / "draft" / "prefix"


def test_a_draft_is_changed_frozen_and_changed_again(world: World) -> None:
    world.create("vision", "alpha==1.0")
    opened = world.json("draft", "vision")
    assert (opened["draft"], opened["new"]) == (str(draft_of(world)), True)
    assert world.json("draft", "vision")["new"] is False
    pip(world, "install", "alpha==2.0", "beta")
    assert world.version("vision", "alpha") == "1.0", "the generation stays"
    frozen = world.json("freeze", "vision")
    assert (frozen["generation"], frozen["changed"]) == (2, True)
    assert (draft_of(world) / ".lock").exists(), "uv has locked the draft"
    assert not (Path(frozen["prefix"]) / ".lock").exists()
    assert [(one["package"], one["before"], one["after"]) for one in frozen["changes"]] == [
        ("alpha", "1.0", "2.0"), ("beta", None, "1.0"),
    ]  # fmt: skip
    assert "as it was built" in world.haienv("doctor", "vision")
    assert world.version("vision", "alpha") == "2.0"
    pip(world, "uninstall", "beta")
    assert world.haienv("run", "vision", "--", "python", "-c", "import beta; print(beta.VERSION)") == "1.0\n"
    assert world.json("freeze", "vision")["generation"] == 3
    assert world.json("show", "vision")["requirements"] == ["alpha==2.0"]
    world.haienv("draft", "vision", "--discard")
    world.haienv("install", "vision", "gamma", "alpha<2")
    assert world.json("show", "vision")["packages"] == {"alpha": "1.0", "gamma": "1.0"}


def test_a_frozen_generation_says_what_it_needs_of_a_machine_as_a_built_one_does(world: World) -> None:
    world.create("vision", "alpha==1.0")
    built = manifests.read(world.root / "users" / "ann" / "vision" / "generations" / "1" / "manifest.json")
    world.haienv("draft", "vision")
    [place] = draft_of(world).glob("lib/*/site-packages")
    (place / "torch").mkdir()
    (place / "torch" / "version.py").write_text("cuda: Optional[str] = '12.6'\n")
    info = place / "torch-2.9.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0\n")
    (info / "WHEEL").write_text("Tag: cp311-cp311-manylinux_2_99_x86_64\n")
    frozen = world.json("freeze", "vision")
    made = manifests.read(Path(frozen["prefix"]).with_name("manifest.json"))
    assert built.glibc
    assert (made.glibc, made.cuda, made.machine) == ("2.99", "12.6", built.machine)


def test_a_draft_whose_freeze_died_is_frozen_again_and_never_taken_for_unchanged(world: World) -> None:
    world.create("vision", "alpha==1.0")
    world.haienv("draft", "vision")
    folder = draft_of(world).parent
    before = {name: (folder / name).read_bytes() for name in ("from", "index", "seen")}
    pip(world, "install", "beta")
    assert world.json("freeze", "vision")["generation"] == 2
    # It died after the number was written, and before what was seen: in this order.
    for left in (("index", "seen"), ("index",)):
        for name in left:
            (folder / name).write_bytes(before[name])
        if "seen" not in left:
            (folder / "seen").unlink()
        again = world.json("freeze", "vision")
        assert again["changed"] is True
        assert again["digest"] == world.json("show", "vision@2")["digest"]
    assert world.json("freeze", "vision")["changed"] is False


def test_a_draft_that_has_not_changed_makes_no_generation(world: World) -> None:
    world.create("vision", "alpha==1.0")
    world.haienv("draft", "vision")
    pip(world, "install", "beta")
    first = world.json("freeze", "vision")
    again = world.json("freeze", "vision")
    assert (first["generation"], first["changed"]) == (2, True)
    assert (again["generation"], again["changed"]) == (2, False)
    assert world.json("show", "vision")["generations"] == [1, 2]


def test_a_frozen_generation_shares_its_files_and_has_the_digest_of_an_equal_build(world: World) -> None:
    world.create("vision", "alpha==1.0")
    world.haienv("draft", "vision")
    pip(world, "install", "alpha==2.0")
    pip(world, "install", "alpha==1.0")
    frozen = world.json("freeze", "vision")
    name = "lib/*/site-packages/alpha/__init__.py"
    [in_draft] = draft_of(world).glob(name)
    [in_generation] = Path(frozen["prefix"]).glob(name)
    assert in_draft.stat().st_ino == in_generation.stat().st_ino
    assert in_generation.stat().st_mode & 0o222 == 0
    one, two = (world.json("show", f"vision@{number}")["packages"] for number in (1, 2))
    assert one == two


def test_a_build_beside_an_open_draft_is_refused(world: World) -> None:
    world.create("vision", "alpha==1.0")
    world.haienv("draft", "vision")
    status, message = world.fails("install", "vision", "beta")
    assert (status, "haienv freeze users/ann/vision" in message) == (2, True)
    assert world.json("show", "vision")["generations"] == [1]


def test_an_editable_install_is_refused_with_the_remedy(world: World, tmp_path: Path) -> None:
    world.create("vision", "alpha==1.0")
    world.haienv("draft", "vision")
    [place] = draft_of(world).glob("lib/*/site-packages")
    info = place / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "direct_url.json").write_text('{"url": "file:///home/ann/mine", "dir_info": {"editable": true}}')
    status, message = world.fails("freeze", "vision")
    assert status == 2
    assert "mine is an editable install of file:///home/ann/mine" in message
    assert "pip install FOLDER" in message
    (info / "direct_url.json").unlink()
    (place / "mine.pth").write_text(f"{tmp_path}\n")
    status, message = world.fails("freeze", "vision")
    assert (status, "mine.pth of the draft uses" in message) == (2, True)
    (place / "mine.pth").write_text("# nothing\nimport sys\n")
    assert world.json("freeze", "vision")["generation"] == 2
    assert sorted(world.json("show", "vision")["generations"]) == [1, 2]


def test_a_script_that_pip_has_written_starts_the_python_of_its_generation(world: World) -> None:
    world.create("vision", "alpha==1.0")
    world.haienv("draft", "vision")
    tool = draft_of(world) / "bin" / "tool"
    tool.write_text(f"#!{draft_of(world)}/bin/python3\nimport sys\nprint(sys.prefix)\n")
    tool.chmod(0o755)
    prefix = world.json("freeze", "vision")["prefix"]
    for place in (Path(prefix), draft_of(world)):
        done = subprocess.run([str(place / "bin" / "tool")], capture_output=True, text=True, check=True, env=world.env)
        assert done.stdout == f"{place}\n"


def test_what_is_not_there_is_said(world: World) -> None:
    world.create("vision", "alpha==1.0")
    for words in (["freeze", "vision"], ["draft", "vision", "--discard"], ["run", "vision", "--draft", "--", "true"]):
        status, message = world.fails(*words)
        assert (status, "`haienv draft users/ann/vision` opens one" in message) == (1, True), message
    status, message = world.fails("draft", "none")
    assert (status, "there is no users/ann/none" in message) == (1, True)


def test_gc_keeps_the_generation_that_the_draft_is_from(world: World) -> None:
    make_wheel(world.wheels, "alpha", "3.0")
    world.create("vision", "alpha==1.0")
    world.haienv("draft", "vision")
    world.haienv("rollback", "vision@1")
    os.utime(next(draft_of(world).glob("lib/*/site-packages/alpha/__init__.py")))
    frozen = world.json("freeze", "vision")
    assert frozen["generation"] == 2
    world.haienv("rollback", "vision")
    assert world.json("gc", "vision", "--keep", "0")["kept"][0]["by"] == ["the draft"]
