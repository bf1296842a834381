"""`squeue` and `sacct` on the user's side."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from hai_client.cli.slurm import main
from unit.client import fake_platform as fakes

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def slurm(platform: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one of the commands in this process against the fake, as alice."""
    monkeypatch.setenv("HAI_URL", platform.url)
    monkeypatch.setenv("HAI_TOKEN", fakes.TOKEN)

    def run(name: str, *words: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = main(name, words)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_squeue_and_sacct_show_tasks(slurm: Run, platform: Any) -> None:
    platform.add("digits", state="running", node_names=["node-1", "node-2"])
    code, out, _ = slurm("squeue", "-h", "-o", "%i|%j|%t|%D|%R")
    assert (code, out) == (0, "41|digits|R|2|node-1,node-2\n")
    code, out, _ = slurm("sacct", "-o", "JobID,State,NodeList", "--parsable2", "-j", "41", "-j", "999")
    assert (code, out) == (0, "JobID|State|NodeList\n41|RUNNING|node-1,node-2\n")
