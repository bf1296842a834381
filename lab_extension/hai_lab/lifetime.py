"""Ask the Hub's service `hai-culler`, with the user's token, when this server ends, and for more time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx
import tornado.web

from hai_lab.handler import HaiHandler
from hai_lab.platform import PlatformClient
from hai_lab.problem import Problem, unavailable

#: The answer if no culler ends this server.
FOR_EVER: Final[Mapping[str, Any]] = {
    "now": None,
    "ends_at": None,
    "reason": None,
    "warning": False,
    "renewable": False,
    "kept_for_tasks": False,
}


@dataclass(frozen=True)
class Lifetime:
    """The address of the culler, and the name of this server."""

    url: str = ""  #: Address of the service without a slash at the end; empty: nothing ends this server.
    server: str = ""  #: The server's name at the Hub; empty for the user's default one.

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Lifetime:
        """Read `HAI_CULLER_URL`, which the spawner sets, and `JUPYTERHUB_SERVER_NAME`."""
        return cls(environ.get("HAI_CULLER_URL", "").rstrip("/"), environ.get("JUPYTERHUB_SERVER_NAME", ""))

    async def ask(self, method: str, platform: PlatformClient) -> Mapping[str, Any]:
        """Return when and why this server ends; POST asks for more time first.

        Raises:
            Problem: The service cannot be asked, or has not seen this server yet.
        """
        if not self.url:
            return FOR_EVER
        headers = {"Authorization": f"Bearer {platform.token}"}
        try:
            answer = await platform.client.request(
                method, f"{self.url}/api/server", params={"name": self.server}, headers=headers
            )
            told = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise unavailable(f"The Hub cannot be asked when this server ends ({type(error).__name__}).") from None
        if answer.status_code != 200 or not isinstance(told, dict):
            detail = told.get("detail") if isinstance(told, dict) else None
            raise unavailable(detail or f"The Hub cannot be asked when this server ends ({answer.status_code}).")
        return {name: told.get(name, usual) for name, usual in FOR_EVER.items()}


class LifetimeHandler(HaiHandler):
    """`hai-lab/lifetime`: when this server ends. `POST`: more time for it."""

    @tornado.web.authenticated
    async def get(self) -> None:
        """Answer when and why this server ends."""
        await self._answer("GET")

    @tornado.web.authenticated
    async def post(self) -> None:
        """Ask for more time, and answer when this server ends now."""
        await self._answer("POST")

    async def _answer(self, method: str) -> None:
        lifetime: Lifetime = self.settings["hai_lab_lifetime"]
        try:
            self.finish(json.dumps(dict(await lifetime.ask(method, self.settings["hai_lab_platform"]))))
        except Problem as problem:
            self.refuse(problem)
