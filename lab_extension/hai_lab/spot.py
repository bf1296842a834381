"""Tell from inside a spot container whether and when it must leave, and let its user end it.

The launcher around this server (hai_client.spot) and the rank's supervisor around that share a folder with it:
`notice.json` is the platform's notice, and the file `spot-leave` says that the user has saved. No request is needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tornado.web

from hai_lab.handler import HaiHandler
from hai_lab.problem import Problem

#: The file that says that the user has saved; hai_client.spot looks for it.
LEAVE_FILE = "spot-leave"
_SHOWN = ("kind", "reason", "message", "at", "deadline")


@dataclass(frozen=True)
class Spot:
    """The spot container that this server runs in."""

    folder: Path | None  #: What it shares with its launcher; None: this server is no spot container.
    task_id: int = 0  #: The task that it is; 0 outside of one.

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Spot:
        """Read `HAI_SPOT`, which the launcher sets, `HAI_RUNTIME_DIR` and `HAI_TASK_ID`."""
        if not (environ.get("HAI_SPOT") and environ.get("HAI_RUNTIME_DIR")):
            return cls(None)
        return cls(Path(environ["HAI_RUNTIME_DIR"]), int(environ.get("HAI_TASK_ID") or 0))

    def notice(self) -> dict[str, Any] | None:
        """Return the current notice with its latest deadline; None if there is none."""
        if self.folder is None:
            return None
        try:
            found = json.loads((self.folder / "notice.json").read_text(encoding="utf-8"))
            return {name: found[name] for name in _SHOWN}
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def status(self) -> dict[str, Any]:
        """Return the state for the browser. `now` is this machine's time: the browser's clock may be wrong."""
        leaving = self.folder is not None and (self.folder / LEAVE_FILE).exists()
        return {
            "spot": self.folder is not None,
            "task_id": self.task_id,
            "notice": self.notice(),
            "leaving": leaving,
            "now": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        }

    def leave(self) -> None:
        """Let the launcher end this server now. Raises Problem: there is no notice, or the file cannot be written."""
        if self.folder is None or self.notice() is None:
            raise Problem(
                409,
                "conflict",
                "Not now",
                "No task needs this node now; to give it back, stop this server in the Hub's control panel.",
            )
        try:
            (self.folder / LEAVE_FILE).touch(mode=0o600)
        except OSError as error:
            raise Problem(
                503, "unavailable", "Not possible", f"The launcher cannot be told ({error.strerror}); wait for the end."
            ) from None


class SpotHandler(HaiHandler):
    """`hai-lab/spot`: the notice, if there is one."""

    @tornado.web.authenticated
    def get(self) -> None:
        """Answer with the state of the container."""
        spot: Spot = self.settings["hai_lab_spot"]
        self.finish(json.dumps(spot.status()))


class LeaveHandler(HaiHandler):
    """`hai-lab/spot/leave`: the user has saved."""

    @tornado.web.authenticated
    def post(self) -> None:
        """Let the server end now."""
        spot: Spot = self.settings["hai_lab_spot"]
        try:
            spot.leave()
        except Problem as problem:
            self.refuse(problem)
            return
        self.finish(json.dumps(spot.status()))
