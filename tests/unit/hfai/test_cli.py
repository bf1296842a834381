"""The command `hfai`: the original's words become those of `hai`."""

from __future__ import annotations

import pytest

from hfai import cli


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (["list", "-g", "default"], ["list", "-g", "default"]),
        (["python", "train.py", "--no_zip"], ["python", "train.py", "--no_zip"]),
        (["python", "train.py", "--", "-n", "8", "-p", "30"], ["python", "train.py", "--", "-n", "8", "-p", "30"]),
        (["python", "a.py", "-g", "default", "--", "-n", "1", "-g", "default"],
         ["python", "a.py", "-g", "default", "--", "-n", "1"]),
        (["bash", "a.sh", "--", "--no_inherit", "-n", "1"], ["bash", "a.sh", "--", "-n", "1"]),
        (["python", "a.py", "--", "-p", "-1"], ["python", "a.py", "--", "-p", "AUTO"]),
        (["exec", "a", "--", "b", "--", "-g", "a100"], ["exec", "a", "--", "b", "--", "-g", "a100"]),
    ],
)  # fmt: skip
def test_the_command_takes_the_originals_words(given: list[str], made: list[str]) -> None:
    assert cli.translate(given) == made


def test_what_the_command_leaves_out_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    cli.translate(["python", "a.py", "--", "--no_checksum"])
    assert capsys.readouterr().err == "hfai: --no_checksum is left out: nothing is copied to the cluster\n"


def test_the_command_is_hai(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("hai ")
