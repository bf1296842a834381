"""A user as the Hub knows them, with what the tokens of spot containers need."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class User:
    """JupyterHub's, as far as it is used."""

    def __init__(self, *, rights: bool = True) -> None:
        self.name, self.url, self.escaped_name = "ann", "/user/ann/", "ann"
        self.groups: list[object] = []
        self.roles: list[object] = []
        self.admin = False
        self.made: list[dict[str, Any]] = []
        self.commits = 0
        self.db = SimpleNamespace(commit=self._commit)
        self._rights = rights

    def _commit(self) -> None:
        self.commits += 1

    def new_api_token(self, **given: Any) -> str:
        if not self._rights:
            raise ValueError("Not assigning requested scopes")
        self.made.append(given)
        return f"token-{len(self.made)}"
