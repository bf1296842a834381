"""Versions of Python that projects admit, and programs that others can run."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.building.interpreters import admits, for_others, make, own
from unit.haienv.envs_kit import env_of


class FakeUv:
    """Writes what uv notes of an environment, and remembers its words."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def run(self, words: list[str], *, doing: str) -> str:
        self.words = words
        prefix = Path(words[-1])
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin/python").symlink_to("/usr/bin/env")
        (prefix / "pyvenv.cfg").write_text("version_info = 3.12.1\n")
        return ""


@pytest.mark.parametrize(
    ("wanted", "admitted", "asked"),
    [(None, None, own()), (None, ">=3.9", ">=3.9"), ("3.12", None, "3.12"), ("3.12", ">=3.9", "3.12")],
)
def test_without_a_wish_it_is_the_python_of_haienv_whatever_is_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str | None, admitted: str | None, asked: str
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    uv = FakeUv()
    make(uv, env_of(tmp_path).generation(1), wanted, admitted)  # type: ignore[arg-type]
    assert uv.words[uv.words.index("--python") + 1] == asked
    assert Path(own()).exists()


@pytest.mark.parametrize(
    ("versions", "yes", "no"),
    [
        (">=3.9", ["3.9.0", "3.13.1"], ["3.8.18"]),
        (">=3.9,<3.13", ["3.12.9"], ["3.13.0"]),
        ("<=3.11", ["3.11.0", "3.10.9"], ["3.11.1", "3.12.0"]),
        (">3.10.2", ["3.10.3"], ["3.10.2"]),
        ("==3.11.*", ["3.11.7"], ["3.12.0"]),
        ("==3.11.7", ["3.11.7"], ["3.11.8"]),
        ("!=3.10.*", ["3.11.0"], ["3.10.4"]),
        ("~=3.9", ["3.9.1", "3.12.0"], ["3.8.0", "4.0.0"]),
        ("~=3.9.2", ["3.9.7"], ["3.9.1", "3.10.0"]),
        (">=3.9 , something", ["3.9.0"], ["3.8.0"]),
    ],
)
def test_versions_that_are_admitted(versions: str, yes: list[str], no: list[str]) -> None:
    assert [admits(versions, one) for one in [*yes, *no]] == [True] * len(yes) + [False] * len(no)


def test_a_program_in_a_folder_of_one_user_is_not_for_others(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("")
    program.chmod(0o755)
    tmp_path.chmod(0o700)
    assert not for_others(str(program))
    assert not for_others(str(tmp_path / "none"))
    assert for_others("/bin/sh")
