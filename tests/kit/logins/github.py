"""As much of a GitHub Enterprise Server as a login asks: tokens, the user, organizations and teams, in pages."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from kit.logins.provider import CLIENT_SECRET


@dataclass
class GitHub:
    """One person, with organizations and teams."""

    login: str = "ada"
    number: int = 7
    organizations: list[str] = field(default_factory=list)
    teams: list[str] = field(default_factory=list)
    #: Status of answers about the person; 0: as it should be.
    fails: int = 0
    url: str = ""

    def __post_init__(self) -> None:
        self.tokens: set[str] = set()
        self._server: HTTPServer | None = None

    async def start(self) -> GitHub:
        routes: list[Any] = [("/login/oauth/access_token", _Token)]
        routes += [(f"/api/v3/{path}", _Api) for path in ("user", "user/orgs", "user/teams")]
        sockets = bind_sockets(0, "127.0.0.1")
        self._server = HTTPServer(Application([(*route, {"it": self}) for route in routes]))
        self._server.add_sockets(sockets)
        self.url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        return self

    async def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            await self._server.close_all_connections()

    def about(self, what: str) -> Any:
        if what == "user":
            return {"login": self.login, "id": self.number, "email": "ada@example.org"}
        if what == "user/orgs":
            return [{"login": name} for name in self.organizations]
        pairs = [name.split(":") for name in self.teams]
        return [{"slug": slug, "organization": {"login": of}} for of, slug in pairs]


class _Token(RequestHandler):
    def initialize(self, it: GitHub) -> None:
        self.it = it

    def post(self) -> None:
        if self.get_argument("client_secret") != CLIENT_SECRET:
            # With status 200.
            self.write({"error": "incorrect_client_credentials", "error_description": self.request.body.decode()})
            return
        token = secrets.token_hex(8)
        self.it.tokens.add(token)
        self.write({"access_token": token, "token_type": "bearer", "scope": "read:org"})


class _Api(RequestHandler):
    def initialize(self, it: GitHub) -> None:
        self.it = it

    def get(self) -> None:
        if self.request.headers["Authorization"].removeprefix("Bearer ") not in self.it.tokens:
            self.set_status(401)
            self.finish({"message": "Bad credentials"})
            return
        if self.it.fails:
            self.set_status(self.it.fails)
            self.finish({"message": "rate limit"})
            return
        found = self.it.about(self.request.path.removeprefix("/api/v3/"))
        if isinstance(found, list):
            size, page = int(self.get_argument("per_page")), int(self.get_argument("page"))
            found = found[(page - 1) * size : page * size]
        self.finish(json.dumps(found))
