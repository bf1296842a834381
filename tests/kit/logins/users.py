"""A user of the Hub as authenticators see one."""

from __future__ import annotations

import copy
from typing import Any


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
