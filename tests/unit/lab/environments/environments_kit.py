"""How the tests of the *Environments* view ask a Jupyter Server."""

from __future__ import annotations

import json
from typing import Any

ENVIRONMENTS = "hai-lab/environments"


async def begin(ask: Any, **body: Any) -> Any:
    return await ask("POST", f"{ENVIRONMENTS}/builds", send=body)


async def log_of(ask: Any, number: int, **options: Any) -> list[tuple[str, Any]]:
    """The events of a build's log."""
    response = await ask("GET", f"{ENVIRONMENTS}/builds/{number}/log", **options)
    assert response.headers["Content-Type"] == "text/event-stream"
    return events(response.body.decode())


def events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found
