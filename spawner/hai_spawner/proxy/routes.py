"""Find the route of a request: the longest one that is a prefix of its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote


@dataclass(frozen=True, slots=True)
class ProxyRoute:
    """A prefix of paths and the server behind it."""

    routespec: str  #: `/path/`, or `host/path/` with host routing, as JupyterHub names it.
    target: str  #: `http://host:port` of the server; a path in it is ignored, as requests keep their own.
    data: Mapping[str, Any] = field(default_factory=dict)  #: Data that JupyterHub attached to the route.


def canonical(path: str) -> str:
    """Return the canonical spelling of a path: each segment decoded and encoded again, with a slash at the end.

    `%2F` inside a segment stays encoded, so that it never makes a new segment.
    """
    spelled = "/".join(quote(unquote(part), safe="@~") for part in path.split("/"))
    return spelled if spelled.endswith("/") else spelled + "/"


class RouteTable:
    """The table of all routes; finding one costs a dictionary look-up for each segment of the path."""

    def __init__(self, *, by_host: bool = False) -> None:
        self._by_host = by_host
        self._routes: dict[str, ProxyRoute] = {}

    def add(self, route: ProxyRoute) -> None:
        """Add a route, or replace the one of the same prefix."""
        self._routes[canonical(route.routespec)] = route

    def remove(self, routespec: str) -> None:
        """Remove a route; no error if there is none."""
        self._routes.pop(canonical(routespec), None)

    def all(self) -> list[ProxyRoute]:
        """Return all routes, in the order in which they were added."""
        return list(self._routes.values())

    @property
    def has_hub(self) -> bool:
        """Whether the Hub has sent its routes: its own is among the first."""
        return any(route.data.get("hub") for route in self._routes.values())

    def find(self, host: str, path: str) -> ProxyRoute | None:
        """Return the most specific route for a request, or None.

        Args:
            host: The request's Host header; its port does not matter.
            path: The path without query, as the client spelled it.
        """
        key = canonical(path)
        if self._by_host:
            key = host.partition(":")[0] + key
        while key not in ("", "/"):
            if route := self._routes.get(key):
                return route
            head, slash, _ = key[:-1].rpartition("/")
            key = head + slash
        return self._routes.get("/")
