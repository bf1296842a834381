"""Environments made from every kind of file, with the Pythons and the indexes of a site; uv is real."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from haienv.building.uv import find

from .conftest import World, make_wheel


def hash_of(wheel: Path) -> str:
    return f"sha256:{sha256(wheel.read_bytes()).hexdigest()}"


def wheel_of(world: World, name: str) -> Path:
    return next(world.wheels.glob(f"{name}-*.whl"))


def test_a_project_with_an_extra_is_built(world: World) -> None:
    project = world.place / "pyproject.toml"
    project.write_text(
        '[project]\nname = "demo"\nrequires-python = ">=3.8"\ndependencies = ["alpha==1.0"]\n'
        '[project.optional-dependencies]\nmore = ["beta"]\n'
    )
    world.create("plain", "-r", str(project))
    world.create("more", "--from", str(project), "--extra", "more")
    assert world.json("show", "plain")["packages"] == {"alpha": "1.0"}
    assert world.json("show", "more")["packages"] == {"alpha": "1.0", "beta": "1.0"}
    _, message = world.fails("create", "x", "-r", str(project), "--extra", "none", "-p", sys.executable)
    assert "has no extra 'none'; it has more" in message


def test_a_lock_of_uv_is_built_as_it_is(world: World) -> None:
    project = world.place / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        '[project]\nname = "demo"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["alpha<2"]\n'
    )
    subprocess.run([find(os.environ), "lock", "--quiet"], cwd=project, env=world.env, check=True)
    # The lock counts, not what the index has now, and not the project beside it.
    (project / "pyproject.toml").unlink()
    make_wheel(world.wheels, "alpha", "1.5")
    world.create("vision", "-r", str(project / "uv.lock"))
    assert world.json("show", "vision")["packages"] == {"alpha": "1.0"}


def test_a_pylock_goes_there_and_back(world: World) -> None:
    world.create("vision", "beta", "alpha==1.0")
    file = world.place / "pylock.toml"
    world.haienv("lock", "vision", "--format", "pylock", "-o", str(file))
    data = tomllib.loads(file.read_text())
    assert [(one["name"], one["version"]) for one in data["packages"]] == [("alpha", "1.0"), ("beta", "1.0")]
    assert data["packages"][1]["wheels"][0]["hashes"]["sha256"] in hash_of(wheel_of(world, "beta"))
    world.create("again", "-r", str(file))
    one, two = world.json("show", "vision"), world.json("show", "again")
    assert (one["digest"], one["lock"]) == (two["digest"], two["lock"])
    text = world.haienv("lock", "vision")
    assert sha256(text.encode()).hexdigest() in one["lock"]
    # uv reads it, too.
    words = [find(os.environ), "pip", "install", "--dry-run", "--python", sys.executable, "-r", str(file)]
    done = subprocess.run(words, env=world.env, capture_output=True, text=True, check=False)
    assert "Would install 2 packages" in done.stderr, done.stderr


def test_a_file_that_an_index_has_replaced_is_not_installed(world: World) -> None:
    wheel = wheel_of(world, "gamma")
    file = world.place / "requirements.txt"
    file.write_text(f"gamma==1.0 --hash={hash_of(wheel)}\nalpha==1.0\n")
    world.create("good", "-r", str(file))
    assert f"--hash={hash_of(wheel)}" in world.haienv("lock", "good")
    file.write_text(f"gamma==1.0 --hash=sha256:{'0' * 64}\nalpha==1.0\n")
    _, message = world.fails("create", "bad", "--no-kernel", "-p", sys.executable, "-r", str(file))
    assert "gamma==1.0: the index has other files of it than the lock file names" in message
    assert [one["name"] for one in world.json("list")["items"]] == ["users/ann/good"]


def test_constraints_limit_versions_and_are_kept_for_later(world: World) -> None:
    (world.place / "limits.txt").write_text("alpha<2\n")
    file = world.place / "requirements.txt"
    file.write_text("-c limits.txt\nbeta\n")
    world.create("vision", "-r", str(file))
    assert world.json("show", "vision")["packages"] == {"alpha": "1.0", "beta": "1.0"}
    world.haienv("install", "vision", "alpha")
    assert world.json("show", "vision")["packages"]["alpha"] == "1.0"


def test_a_wrong_file_changes_nothing(world: World) -> None:
    file = world.place / "requirements.txt"
    file.write_text("alpha\n-e .\n")
    status, message = world.fails("create", "vision", "-r", str(file))
    assert status == 2
    assert f"{file}, line 2: requirement: '-e .' is an editable install" in message
    assert world.json("list")["items"] == []


def other_pythons() -> list[str]:
    """Programs of other versions of Python on this machine, the oldest first: those that lie beside ours."""
    found = {}
    for program in Path(sys.base_prefix).parent.glob("*/bin/python3.*"):
        match = re.fullmatch(r"python3\.(\d+)", program.name)
        if match and int(match[1]) >= 8 and int(match[1]) != sys.version_info[1]:
            found[int(match[1])] = str(program)
    return [path for _, path in sorted(found.items())]


@pytest.mark.skipif(not other_pythons(), reason="this machine has one Python")
def test_an_environment_of_another_python_is_built_used_and_told_by_its_manifest(world: World) -> None:
    for program in {other_pythons()[0], other_pythons()[-1]}:
        facts = "import sys; print('.'.join(map(str, sys.version_info[:3])), sys.implementation.cache_tag)"
        version, tag = subprocess.check_output([program, "-c", facts], text=True).split()
        name = f"on-{version}"
        world.haienv("create", name, "--no-kernel", "-p", program, "alpha")
        shown = world.json("show", name)
        assert (shown["python"], shown["interpreter"]) == (version, os.path.realpath(program))
        assert world.version(name, "alpha") == "2.0"
        # A task of that environment finds compiled Python, and writes none.
        compiled = next(Path(shown["prefix"]).glob("lib/*/site-packages/alpha/__pycache__"))
        assert [one.name for one in compiled.iterdir()] == [f"__init__.{tag}.pyc"]
        # A further package does not change the Python, though none was asked for.
        spec = world.root / "users" / "ann" / name / "env.toml"
        spec.write_text(spec.read_text().replace(f'python = "{program}"\n', ""))
        world.haienv("install", name, "beta")
        assert world.json("show", name)["python"] == version
        script = world.place / "train.py"
        script.write_text(f"import haienv\nhaienv.set_env({name!r})\nimport sys\nprint(sys.version_info[:2])\n")
        done = subprocess.run([sys.executable, str(script)], env=world.env, capture_output=True, text=True, check=False)
        assert str(tuple(map(int, version.split(".")[:2]))) in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["-p", "3.98"],
            r"python: there is no Python 3.98 on this machine \(3\..*\), .*python_mirror in",
        ),
        (["-p", "3.6"], r"python: 3.6 is too old: .*3.8 and newer"),
        (["-p", "/no/such/python"], "python: /no/such/python cannot be used"),
    ],
)
def test_a_python_that_is_not_to_be_had_is_named_with_what_there_is(world: World, words: list[str], says: str) -> None:
    _, message = world.fails("create", "vision", *words, "alpha")
    assert re.search(says, message.replace("\n", " ")), message
    assert world.json("list")["items"] == []


def test_a_python_that_the_project_is_not_for_is_refused(world: World) -> None:
    project = world.place / "pyproject.toml"
    project.write_text('[project]\nname = "demo"\nrequires-python = ">=3.50"\ndependencies = []\n')
    _, message = world.fails("create", "vision", "-p", sys.executable, "-r", str(project))
    assert "is not among >=3.50, which the project is for" in message


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and keeps the paths that were asked for."""

    asked: list[str]

    def log_message(self, *words: object) -> None:
        self.asked.append(self.path)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """An index of packages: its address, its folder, and what was asked for."""
    folder = tmp_path / "index"
    folder.mkdir()
    handler = type("Handler", (Quiet,), {"asked": []})
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0),
        functools.partial(handler, directory=str(folder)),  # type: ignore[arg-type]
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", folder, handler.asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def publish(folder: Path, wheel: Path, package: str) -> None:
    place = folder / package
    place.mkdir(exist_ok=True, parents=True)
    shutil.copy(wheel, place)
    links = "".join(f'<a href="{one.name}">{one.name}</a>' for one in place.glob("*.whl"))
    (place / "index.html").write_text(f"<html><body>{links}</body></html>")


def test_packages_come_from_the_indexes_that_the_administrator_names(
    world: World, index: tuple[str, Path, list[str]]
) -> None:
    address, folder, asked = index
    publish(folder / "main", wheel_of(world, "beta"), "beta")
    publish(folder / "main", make_wheel(world.place / "made", "alpha", "3.0"), "alpha")
    publish(folder / "own", make_wheel(world.place / "made", "alpha", "1.0"), "alpha")
    world.root.mkdir()
    (world.root / "config.toml").write_text(f'indexes = ["{address}/main"]\n[packages]\nalpha = "{address}/own"\n')
    env = {"UV_OFFLINE": "0", "UV_FIND_LINKS": ""}
    world.haienv("create", "vision", "--no-kernel", "-p", sys.executable, "beta", **env)
    # Only beta asks for alpha, and alpha comes from the index that is named for it.
    assert world.json("show", "vision")["packages"] == {"alpha": "1.0", "beta": "1.0"}
    assert any(path.startswith("/own/alpha") for path in asked)


def test_passwords_of_indexes_are_in_no_file_of_an_environment(
    world: World, index: tuple[str, Path, list[str]]
) -> None:
    address, folder, _ = index
    publish(folder / "main", wheel_of(world, "alpha"), "alpha")
    with_secret = address.replace("http://", "http://ann:hunter2@")
    env = {"UV_OFFLINE": "0", "UV_FIND_LINKS": "", "UV_DEFAULT_INDEX": f"{with_secret}/main"}
    world.haienv("create", "vision", "--no-kernel", "-p", sys.executable, "alpha", **env)
    _, message = world.fails("install", "vision", "nothing-like-this", **env)
    assert "hunter2" not in message
    status, message = world.fails("create", "x", "--index", f"{with_secret}/main", "alpha")
    assert (status, "a token in it" in message, "hunter2" in message) == (2, True, False)
    for file in world.root.rglob("*"):
        if file.is_file() and file.suffix != ".whl":
            assert b"hunter2" not in file.read_bytes(), file


def test_an_index_without_the_package_is_told_from_a_wrong_name(
    world: World, index: tuple[str, Path, list[str]]
) -> None:
    address, _, asked = index
    env = {"UV_OFFLINE": "0", "UV_FIND_LINKS": "", "UV_DEFAULT_INDEX": f"{address}/main"}
    _, message = world.fails("create", "vision", "--no-kernel", "-p", sys.executable, "omega", **env)
    assert "omega was not found" in message
    assert "is the name right? `haienv config append indexes URL`" in message
    assert set(asked) == {"/main/omega/"}
    assert world.json("list")["items"] == []


def test_an_index_that_accepts_and_says_nothing_is_given_up_and_named(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        env = {
            "UV_OFFLINE": "0", "UV_FIND_LINKS": "", "UV_DEFAULT_INDEX": address, "UV_HTTP_RETRIES": "0",
            "UV_HTTP_TIMEOUT": "1",
        }  # fmt: skip
        _, message = world.fails("create", "vision", "--no-kernel", "-p", sys.executable, "omega", **env)
    assert address in message
    assert "timed out" in message
    assert "the index does not answer: `haienv config show`" in message
    assert world.json("list")["items"] == []


def test_a_lock_of_another_platform_is_refused_with_the_remedy(world: World) -> None:
    made = make_wheel(world.place / "made", "delta", "1.0")
    wheel = made.rename(world.wheels / "delta-1.0-cp311-cp311-win_amd64.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    lock = world.place / "requirements.txt"
    lock.write_text(f"delta==1.0 --hash=sha256:{digest}\n")
    _, message = world.fails("create", "vision", "--no-kernel", "-p", sys.executable, "-r", str(lock))
    assert "delta==1.0 has no wheels with a matching platform tag" in message
    assert "is for another platform: write the lock on this one" in message
    assert world.json("list")["items"] == []


def test_an_index_that_does_not_answer_is_named(world: World) -> None:
    env = {"UV_OFFLINE": "0", "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0"}
    _, message = world.fails("create", "vision", "--no-kernel", "-p", sys.executable, "omega", **env)
    assert "http://127.0.0.1:9/simple" in message
    assert world.json("list")["items"] == []
