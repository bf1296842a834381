"""No error, and no line of the command, repeats a secret that it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hai_client.errors import HaiError, Invalid
from hai_hub.shared.console import complain

Hai = Callable[..., Any]
SECRET = "S3CR3T-of-ann"
ADDRESS = f"https://ann:{SECRET}@hub.example"


@pytest.mark.parametrize("kind", [HaiError, Invalid])
def test_an_error_has_none_in_its_message_its_words_and_its_repr(kind: type[HaiError]) -> None:
    error = kind(f"url: {ADDRESS} is wrong")
    assert error.message == "url: https://***@hub.example is wrong"
    assert SECRET not in f"{error} {error!r} {error.args}"


@pytest.mark.parametrize(
    "words",
    [
        ["login", "--url", ADDRESS], [ADDRESS], [f"--{ADDRESS}"],
        ["list", f"--url={ADDRESS}"], ["list", ADDRESS, ADDRESS],
        ["submit", "-n", ADDRESS, "--", "x"], ["submit", "-p", ADDRESS, "--", "x"],
        ["submit", "--name", ADDRESS, "--", "x"],
        ["submit", "-e", f"{ADDRESS}", "--", "x"], ["submit", "--cwd", ADDRESS, "--", "x"], ["status", ADDRESS],
        ["submit", "--time-limit", ADDRESS, "--", "x"], ["submit", "--image", ADDRESS + " ", "--", "x"],
        ["notify", "test", ADDRESS], ["run", ADDRESS], ["run", f"/none/{ADDRESS}"], ["environments", "show", ADDRESS],
        ["environments", "build", "create", "x", f"six @ {ADDRESS}/six.whl"], ["admin", "audit", "--since", ADDRESS],
        ["policy", "set", ADDRESS], ["admin", "policy", "set", f"a={ADDRESS}"], ["slurm", ADDRESS],
    ],
)  # fmt: skip
def test_no_complaint_of_the_command_repeats_one(hai: Hai, words: list[str]) -> None:
    told = hai(*words)
    assert SECRET not in told.err


def test_hai_up_complains_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    complain(f"hai up: {ADDRESS} is in use")
    assert capsys.readouterr().err == "hai up: https://***@hub.example is in use\n"
