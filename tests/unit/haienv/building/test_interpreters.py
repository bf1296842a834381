"""Versions of Python that projects admit, and programs that others can run."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.building.interpreters import admits, for_others


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
