"""Requests over connections that stay open, by one client or several at once."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.conftest import Platform

API = "/services/hai/api/v1"


#: Budgets that no measurement meets: what is measured is the service, not its limits (bench.fairness measures those).
_AMPLE = """
for kind in ("read", "write", "expensive"):
    setattr(c.ApiLimits, kind, {"at_once": 64, "total": 64, "rate": 100000, "burst": 100000, "waiting": 10000})
c.ApiLimits.stream = {"at_once": 1000, "rate": 100000, "burst": 100000}
c.ApiLimits.wait = "60s"
"""


def without_limits(folder: Path) -> tuple[str, ...]:
    """Options of `hai up` for a service whose limits are never reached; writes their file into `folder`."""
    file = folder / "ample.py"
    file.write_text(_AMPLE)
    return ("--scheduler-config", str(file))


class Wire:
    """A client's connection to the service, through the proxy."""

    def __init__(self, platform: Platform) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", platform.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {platform.token('ann')}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, API + path, data, self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path} was answered with {answer.status}: {content[:500]!r}")
        return content

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True, slots=True)
class Storm:
    """The times of many requests."""

    #: Seconds from the first request to the last answer.
    lasted: float
    #: Seconds of each request.
    latencies: list[float]

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.latencies) / self.lasted


def storm(platform: Platform, clients: int, total: int, request: Callable[[Wire, int], object]) -> Storm:
    """Send `total` requests from `clients` clients at once; each client sends its requests one after the other."""

    def client(number: int) -> list[float]:
        wire = Wire(platform)
        took = []
        for index in range(number, total, clients):
            began = time.perf_counter()
            request(wire, index)
            took.append(time.perf_counter() - began)
        wire.close()
        return took

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        latencies = [took for part in pool.map(client, range(clients)) for took in part]
    return Storm(time.perf_counter() - began, latencies)
