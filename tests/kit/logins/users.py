"""A user of the Hub as authenticators see one, and a provider that says what a test wants."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from hai_hub.logins.in_step import InStep


class FakeUser:
    """Keeps the auth state and the groups of one user, after a login with this model."""

    def __init__(self, name: str, model: dict[str, Any] | None = None) -> None:
        self.name = name
        self.state: dict[str, Any] | None = copy.deepcopy(model["auth_state"]) if model else None
        self.groups: list[str] = list(model["groups"]) if model else []
        self.saved = 0
        #: When the Hub last asked, for JupyterHub, which asks again after a while; None: at the next request.
        self._auth_refreshed: float | None = 0.0

    async def get_auth_state(self) -> dict[str, Any] | None:
        return copy.deepcopy(self.state)

    async def save_auth_state(self, state: dict[str, Any]) -> None:
        self.state = copy.deepcopy(state)
        self.saved += 1

    def sync_groups(self, names: list[str]) -> None:
        self.groups = list(names)


class FakeProvider(InStep):
    """Says what the tests want; `at_once` is the most questions that were open together."""

    def __init__(self) -> None:
        super().__init__(allow_all=True, group_table=[{"match": "(.+)"}])
        self.asked: list[str] = []
        self.open = self.at_once = 0
        self.says: dict[str, Any] = {}

    async def ask_again(self, name: str, state: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(name)
        self.open += 1
        self.at_once = max(self.at_once, self.open)
        await asyncio.sleep(0)
        self.open -= 1
        said = self.says.get(name, [])
        if isinstance(said, Exception):
            raise said
        return {"name": name, "groups": self.mapped(name, said), "auth_state": state}
