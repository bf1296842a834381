"""uv as a program: how it is found and run, what of its output a user sees, and its cache."""

from __future__ import annotations

import builtins
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from haienv.building import uv as module
from haienv.building.uv import FOREIGN, MAX_LINES, Uv, cache_of, check_cache, find, reason
from haienv.shared.errors import BuildFailed, Wrong

PROGRAM = """#!/bin/sh
echo "$@" > "$DUMP/words"
env > "$DUMP/env"
cat > "$DUMP/stdin"
printf '%s' "$SAYS" >&2
echo out
exit "${CODE:-0}"
"""


class Ran:
    """A program in the place of uv, and what it was given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "uv").write_text(PROGRAM)
        (folder / "uv").chmod(0o755)
        self.shown: list[str] = []

    def run(self, *words: str, stdin: str = "", **environ: str) -> str:
        given = {"PATH": os.environ["PATH"], "DUMP": str(self.folder), **environ}
        uv = Uv(program=str(self.folder / "uv"), environ=given, log=self.folder / "log", show=self.shown.append)
        return uv.run(words, stdin=stdin, doing="resolve the requirements")

    def got(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.fixture
def ran(tmp_path: Path) -> Ran:
    return Ran(tmp_path)


def test_it_gets_its_words_and_its_input_and_its_output_is_returned(ran: Ran) -> None:
    assert ran.run("pip", "compile", stdin="six\n") == "out\n"
    assert ran.got("words") == "--color=never pip compile\n"
    assert ran.got("stdin") == "six\n"
    ran.run("pip", UV_NO_CONFIG="1")
    assert ran.got("words") == "--no-config pip\n"


def test_what_a_shell_has_set_for_another_environment_does_not_reach_it(ran: Ran) -> None:
    ran.run("pip", **dict.fromkeys(FOREIGN, "other"), UV_INDEX="https://a.example")
    env = dict(line.split("=", 1) for line in ran.got("env").splitlines() if "=" in line)
    assert not set(FOREIGN) & set(env)
    assert (env["UV_INDEX"], env["NO_COLOR"]) == ("https://a.example", "1")


def test_lines_of_progress_are_shown_and_all_is_in_the_log(ran: Ran) -> None:
    ran.run("pip", SAYS="Resolved 3 packages\n  Installed 2 packages\n + six==1.17.0\nwarning: old\n")
    ran.run("venv", SAYS="again\n")
    assert ran.shown == ["Resolved 3 packages", "Installed 2 packages", "warning: old"]
    assert ran.got("log").splitlines() == [
        "$ uv pip", "Resolved 3 packages", "  Installed 2 packages", " + six==1.17.0", "warning: old", "$ uv venv",
        "again",
    ]  # fmt: skip


def test_passwords_of_addresses_are_in_no_log_and_no_error(ran: Ran) -> None:
    address = "https://ann:very-secret@a.example/simple"
    with pytest.raises(BuildFailed) as caught:
        ran.run("pip", "--index", address, SAYS=f"error: no answer from {address}\n", CODE="2")
    assert "very-secret" not in str(caught.value) + ran.got("log")
    assert "a.example" in str(caught.value)


def test_a_failure_has_uvs_own_reason(ran: Ran) -> None:
    with pytest.raises(BuildFailed, match=r"^uv could not resolve the requirements: no six$"):
        ran.run("pip", SAYS="Using Python 3.11\nerror: no six\n", CODE="1")


def test_a_program_that_cannot_be_started_is_said(ran: Ran) -> None:
    (ran.folder / "uv").chmod(0o644)
    with pytest.raises(BuildFailed, match=r"uv cannot be started: .*Permission denied"):
        ran.run("pip")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it gave no reason"),
        ("\n  \n", "it gave no reason"),
        ("error: no six", "no six"),
        ("Using Python\nerror: a\n  cause: b\n", "a; b"),
        ("  × No solution found\n  ╰─▶ Because six\n", "No solution found; Because six"),
        # Where it names no error, what it says from the begin on.
        ("one\ntwo\nthree\n", "one; two\n  three"),
    ],
)
def test_the_reason_is_what_comes_from_the_error_on(text: str, said: str) -> None:
    assert reason(text) == said


def test_a_long_reason_is_cut() -> None:
    text = reason("error: 0\n" + "\n".join(map(str, range(1, 100))))
    assert text.splitlines()[-1].strip() == str(MAX_LINES - 1)


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({"HOME": "/home/ann"}, "/home/ann/.cache/uv"),
        ({"HOME": "/home/ann", "XDG_CACHE_HOME": "/fast"}, "/fast/uv"),
        ({"HOME": "/home/ann", "XDG_CACHE_HOME": "/fast", "UV_CACHE_DIR": "/own"}, "/own"),
        ({}, "/.cache/uv"),
    ],
)
def test_the_cache_is_the_users_own(environ: dict[str, str], path: str) -> None:
    assert cache_of(environ) == path


def test_a_cache_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "uv"
    check_cache({"UV_CACHE_DIR": str(path)})
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    path.chmod(0o755)
    check_cache({"UV_CACHE_DIR": str(path)})


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702, 0o720])
def test_a_cache_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(Wrong, match=f"cache: others can write {tmp_path}.*haienv config set cache FOLDER"):
        check_cache({"UV_CACHE_DIR": str(tmp_path)})


def test_a_cache_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Wrong, match=f"cache: {tmp_path}/file/uv cannot be made: Not a directory; `haienv config set"):
        check_cache({"UV_CACHE_DIR": str(tmp_path / "file" / "uv")})


def test_the_program_that_is_named_goes_before_all_others() -> None:
    assert find({"HAIENV_UV": "/opt/uv"}) == "/opt/uv"
    assert os.access(find({}), os.X_OK), "the package of uv is installed here"


@pytest.mark.parametrize("there", [True, False])
def test_without_its_package_it_is_looked_for_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    real = builtins.__import__

    def without_uv(name: str, *given: Any) -> Any:
        if name == "uv":
            raise ImportError(name)
        return real(name, *given)

    monkeypatch.setattr(builtins, "__import__", without_uv)
    monkeypatch.delitem(module.__dict__, "find_uv_bin", raising=False)
    if there:
        (tmp_path / "uv").touch(mode=0o755)
        assert find({"PATH": str(tmp_path)}) == str(tmp_path / "uv")
        return
    with pytest.raises(Wrong, match=r"uv is not installed here.*pip install 'hai-env\[build\]'"):
        find({"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("Because there is no version of six==99 and you require six==99, your requirements are unsatisfiable.",
         "is the version right?"),
        ("Because you require six<1 and six>1, we can conclude that your requirements are unsatisfiable.",
         "leave out or change one of the versions"),
        ("Because there are no versions of a>3 and b==1 depends on a>3, your requirements are unsatisfiable.",
         "leave out or change one of the versions"),
        ("error: Git operation failed\n  cause: Could not resolve host", "is the address of the repository right?"),
        ("error: Couldn't parse requirement in `-` at position 8", "write each requirement as timm==1.0.20"),
        ("error: something new", None),
    ],
)  # fmt: skip
def test_what_to_change_is_said_for_the_usual_reasons(said: str, hint: str | None) -> None:
    found = module.remedy(said)
    assert (found == "") if hint is None else found.startswith(f"\n  {hint}")
