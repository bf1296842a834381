"""Takes a snapshot of a folder for the submit form: `hai snapshot take`, run as the user of this server."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import sys
from contextlib import suppress
from typing import Any, Final

import tornado.web

from hai_lab.handler import HaiHandler
from hai_lab.problem import Problem, invalid, unavailable

#: Longest time of a snapshot, in seconds: a large folder is sent for the first time.
LONGEST_S: Final = 600.0
_MAX_BODY: Final = 16 * 1024


def command() -> list[str]:
    """Return the words that start `hai`. Raises Problem if it is not installed here."""
    if importlib.util.find_spec("hai_client") is not None:
        # -P: no module is imported from the folder of the server.
        return [sys.executable, "-P", "-m", "hai_client"]
    found = shutil.which("hai")
    if found is None:
        raise unavailable(
            "hai is not installed where this JupyterLab runs. Ask an administrator for: pip install hai-client"
        )
    return [found]


async def take(folder: str, group: str) -> dict[str, Any]:
    """Take a snapshot; return what a task needs of it, and what to tell the user.

    Args:
        folder: The folder, absolute.
        group: The node group of the task.

    Raises:
        Problem: `hai` says why it cannot be taken.
    """
    words = [*command(), "--json", "snapshot", "take", f"--group={group}", "--", folder]
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise unavailable(f"hai cannot be started: {error.strerror or error}.") from None
    try:
        out, err = await asyncio.wait_for(process.communicate(), LONGEST_S)
    except TimeoutError:
        raise unavailable(f"The snapshot of {folder} took longer than {LONGEST_S:.0f} s; is it all code?") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != 0:
        said = err.decode(errors="replace").strip().removeprefix("hai: ")
        raise invalid(said[:2000] or "hai has failed without saying why.")
    found: dict[str, Any] = json.loads(out)
    return found


class SnapshotHandler(HaiHandler):
    """`hai-lab/snapshot`: stores a folder as it is now."""

    work: asyncio.Task[dict[str, Any]] | None = None

    @tornado.web.authenticated
    async def post(self) -> None:
        """Answer with the digest, the commit and what was sent."""
        try:
            folder, group = self._asked()
            self.work = asyncio.ensure_future(take(folder, group))
            await asyncio.wait([self.work])
            if not self.work.cancelled():
                self.finish(json.dumps(self.work.result()))
        except Problem as problem:
            self.refuse(problem)

    def on_connection_close(self) -> None:
        """Stop when the browser has left."""
        super().on_connection_close()
        if self.work is not None:
            self.work.cancel()

    def _asked(self) -> tuple[str, str]:
        body = self.request.body
        try:
            asked = json.loads(body) if len(body) <= _MAX_BODY else None
        except ValueError:
            asked = None
        if not isinstance(asked, dict) or not all(isinstance(asked.get(name), str) for name in ("folder", "group")):
            raise invalid("A snapshot needs a folder and a group, as texts.")
        folder, group = asked["folder"], asked["group"]
        if not folder.startswith("/") or "\0" in folder + group:
            raise invalid(f"The folder {folder[:200]!r} is not an absolute path.")
        return folder, group
