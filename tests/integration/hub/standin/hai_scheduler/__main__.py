"""Speaks the few paths that the Hub's side uses, checks tokens with the Hub, and writes down what it is asked."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from jupyterhub.services.auth import HubOAuth
from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

STATE = Path(sys.argv[sys.argv.index("--state-dir") + 1])
ROLE = sys.argv[sys.argv.index("--role") + 1]
PORT = int(sys.argv[sys.argv.index("--port" if ROLE == "api" else "--health-port") + 1])


class Answers(RequestHandler):
    hub = HubOAuth(cache_max_age=0)
    paused = False
    looks = 0

    async def get(self, path: str) -> None:
        await self._answer("GET", path)

    async def put(self, path: str) -> None:
        """Take what the spawner tells of its servers."""
        self.set_status(204 if path == "containers" else 404)

    async def post(self, path: str) -> None:
        await self._answer("POST", path)

    async def _answer(self, method: str, path: str) -> None:
        if path == "health":
            self.write({"status": "ok"})
            return
        who = await self.hub.get_user(self, sync=False)
        if who is None or not self.hub.check_scopes(self.hub.access_scopes, who):
            self.set_status(401)
            return
        note = {"call": f"{method} /{path}", "by": who["name"], "body": self.request.body.decode()}
        if path != "archived-users":  # the Hub asks that all the time
            with (STATE / "calls.jsonl").open("a") as file:
                file.write(json.dumps(note) + "\n")
        self.write(self._act(path, who))

    def _act(self, path: str, who: dict[str, Any]) -> dict[str, Any]:
        match path:
            case "me":
                return {"name": who["name"], "scopes": who["scopes"]}
            case "nodes":
                return {"items": [{"name": f"node-{number}", "gpus": 2} for number in (1, 2, 3)]}
            case "cluster/pause" | "cluster/resume":
                Answers.paused = path.endswith("pause")
            case "archived-users":
                return {"names": self._archived()}
            case _ if path.startswith("users/"):
                names = {*self._archived(), path.split("/")[1]}
                (STATE / "archived.json").write_text(json.dumps(sorted(names)))
            case "tasks":
                Answers.looks += 1
                return {"items": [{"name": "digits", "user": "bob"}] if Answers.looks < 4 else []}
        return {"paused": Answers.paused}

    def _archived(self) -> list[str]:
        file = STATE / "archived.json"
        return list(json.loads(file.read_text())) if file.exists() else []


class Ready(RequestHandler):
    def get(self) -> None:
        self.write({"status": "ready", "leader": "this"})


async def loop(stop: asyncio.Event) -> None:
    """The scheduling loop has nothing to do but to tell its health."""
    HTTPServer(Application([("/health/ready", Ready)])).listen(PORT, "127.0.0.1")
    (STATE / "loop_environment.json").write_text(json.dumps(sorted(os.environ)))
    await stop.wait()


async def main() -> None:
    if (STATE / "refuse").exists():
        print("hai-scheduler: nodes: 7 is one too many; take 6", file=sys.stderr)
        sys.exit(2)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if ROLE == "loop":
        await loop(stop)
        return
    prefix = os.environ["JUPYTERHUB_SERVICE_PREFIX"]
    handlers = [(prefix + "api/v1/(.*)", Answers), (prefix + "()", Answers)]
    server = HTTPServer(Application(handlers, cookie_secret=os.urandom(32)))
    server.listen(PORT, "127.0.0.1")
    (STATE / "service_environment.json").write_text(json.dumps(sorted(os.environ)))
    await stop.wait()


asyncio.run(main())
