"""A stand-in for the command haienv."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hai_lab.environments import builds, program
from kit.waiting import until

#: Stands for the command: it notes its arguments, and does what the environment's name says.
HAIENV = """
import json, os, sys, time
from pathlib import Path
here = Path(sys.argv[0]).parent
with (here / "calls").open("a") as file:
    file.write(json.dumps([sys.argv[1:], os.environ.get("JUPYTERHUB_API_TOKEN")]) + "\\n")
verb, name = sys.argv[1], (sys.argv + [""])[2]
if verb == "list":
    print(json.dumps({"items": [{"name": "users/alice/vision", "trouble": ""}]}))
elif name.endswith("refused"):
    print("haienv: environment: there is none", file=sys.stderr)
    sys.exit(1)
elif verb == "freeze":
    print(json.dumps({"changed": True, "generation": 2}))
elif verb in ("show", "diff"):
    print(json.dumps({"verb": verb}))
elif name.endswith("slow"):
    try:
        print("haienv: resolving", file=sys.stderr)
        print("installing")
        time.sleep(600)
    except KeyboardInterrupt:
        print("haienv: interrupted; nothing has changed")
        sys.exit(130)
elif name.endswith("loud"):
    for number in range(12000):
        print(f"line {number}")
    print("x" * 10000)
else:
    print("haienv: resolving", file=sys.stderr)
    print("made \\u00e9")
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What haienv was called with."""
    script = tmp_path / "fake" / "haienv.py"
    script.parent.mkdir()
    script.write_text(HAIENV)
    monkeypatch.setattr(program, "command", lambda: [sys.executable, "-P", str(script)])

    def read() -> list[Any]:
        path = script.with_name("calls")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    return read


@pytest.fixture
async def ended(jp_serverapp: Any) -> AsyncIterator[None]:
    """No command outlives its test."""
    yield
    found: builds.Builds = jp_serverapp.web_app.settings["hai_lab_builds"]
    found.close()
    await until("the commands to end", lambda: not found.running)
