"""`squeue` and `sacct` on the user's side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Run = Callable[..., tuple[int, str, str]]


def test_squeue_and_sacct_show_tasks(slurm: Run, platform: Any) -> None:
    platform.add("digits", state="running", node_names=["node-1", "node-2"])
    code, out, _ = slurm("squeue", "-h", "-o", "%i|%j|%t|%D|%R")
    assert (code, out) == (0, "41|digits|R|2|node-1,node-2\n")
    code, out, _ = slurm("sacct", "-o", "JobID,State,NodeList", "--parsable2", "-j", "41", "-j", "999")
    assert (code, out) == (0, "JobID|State|NodeList\n41|RUNNING|node-1,node-2\n")
