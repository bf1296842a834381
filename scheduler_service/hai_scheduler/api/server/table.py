"""Finds the route of a request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from hai_scheduler.api.server.problems import Refused
from hai_scheduler.api.server.route import Route


class RouteIndex:
    """The routes below a prefix. For each method, a fixed path wins over a path with variable parts."""

    def __init__(self, prefix: str, routes: Sequence[Route]) -> None:
        self.prefix = prefix
        self._routes = [
            (_pattern(prefix + route.path), route) for route in sorted(routes, key=lambda route: route.path.count("{"))
        ]

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """Return the route, and the variable parts of the path, decoded. Raises Refused: 404, 405."""
        allowed: list[str] = []
        for pattern, route in self._routes:
            match = pattern.fullmatch(path)
            if match is None:
                continue
            if route.method == method or (method, route.method) == ("HEAD", "GET"):
                return route, {name: _decode(text) for name, text in match.groupdict().items()}
            allowed += ["GET", "HEAD"] if route.method == "GET" else [route.method]
        if allowed:
            known = ", ".join(sorted(set(allowed)))
            raise Refused("method_not_allowed", f"Use {known} here, not {method[:20]}.", {"Allow": known})
        raise Refused("not_found", f"There is nothing at this path: {self.prefix}/openapi.json lists what there is.")


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path)))


def _decode(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise Refused("invalid", "The path is not UTF-8.") from None
