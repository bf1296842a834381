"""Requests to the Kubernetes API server: the official client's transport, plain dictionaries, errors of this module.

Objects are not turned into the client's models: a cluster has thousands of pods, and to build the models costs more
than all other work on them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.request import getproxies_environment

import aiohttp
import yaml
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config.config_exception import ConfigException

from hai_scheduler.adapters.kubernetes.refusals import Meaning, meaning_of
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.timings import Timings, Untimed

log = logging.getLogger(__name__)

#: How often a request is made again when the server is busy or cannot be reached.
_TRIES: Final = 4
_FIRST_PAUSE_S: Final = 0.2
#: The longest `Retry-After` of the server that is waited for, in seconds; after a longer one the next tick tries again.
_LONGEST_PAUSE_S: Final = 5.0
_REQUEST_S: Final = 30.0
_BUSY: Final = frozenset({429, 500, 502, 503, 504})


class ApiRefused(Exception):
    """The API server will never take this request: a quota, a policy, an invalid object."""


class ApiForbidden(Temporary):
    """The service's account lacks a right, which the message names. It passes when an admin grants the right."""


class Missing(LookupError):
    """There is no such object."""


class Exists(Exception):
    """An object of this name exists already."""


class Expired(Exception):
    """The server no longer has the resource version that a watch was to start from."""


class ClusterUnusable(Exception):
    """The cluster cannot be used as it is configured; the message says what to do."""


async def connect(settings: ClusterSettings) -> ApiClient:
    """Return a client that is configured as the settings say. Raises ClusterUnusable."""
    configuration = Configuration()
    file = _file(settings)
    # Enough for the watches beside all requests that are under way.
    configuration.connection_pool_maxsize = settings.parallel + 16
    inside = not settings.kubeconfig and not settings.context and "KUBERNETES_SERVICE_HOST" in os.environ
    # aiohttp would look for proxies, and for a .netrc file, at each request: a third of what a request costs. In a pod
    # no proxy leads to the API server.
    configuration.client_session_kwargs = {"trust_env": not inside and bool(getproxies_environment())}
    try:
        if inside:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            await config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=file,
                context=settings.context or None,
                client_configuration=configuration,
                persist_config=False,
            )
    except (ConfigException, yaml.YAMLError, OSError, ValueError, KeyError, TypeError) as error:
        raise ClusterUnusable(
            f"KubernetesSettings.kubeconfig: {file} cannot be used: {error}; name a kubeconfig file that works with "
            "kubectl, or run the service in a pod with a service account"
        ) from None
    return ApiClient(configuration=configuration)


def _file(settings: ClusterSettings) -> str:
    return settings.kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")


class KubernetesApi:
    """Sends requests, and sends them again while the server is busy. Every error that may pass is Temporary."""

    def __init__(self, client: ApiClient, clock: Clock, *, parallel: int = 16, timings: Timings | None = None) -> None:
        """`parallel` is how many requests may be under way at once, beside watches."""
        self._timings = timings or Untimed()
        self._client = client
        self._clock = clock
        # Not left to the connection pool: a request's timeout would already run while it waits for a connection.
        self._slots = asyncio.Semaphore(parallel)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()  # type: ignore[no-untyped-call]

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Send a request, again while the server is busy, and return the object of the answer.

        The request must be idempotent, because it may be sent more than once.

        Raises:
            Temporary: the server cannot be reached, is busy, or does not accept the credentials.
            Missing, Exists, Expired, ApiRefused: see these classes.
        """
        pause = _FIRST_PAUSE_S
        for attempt in range(1, _TRIES + 1):
            wait: float | None = None
            try:
                async with self._slots:
                    response, data = await self._timed(method, path, query, body)
                # A conflict of two writers: the server tells the second one to try again.
                clash = response.status == HTTPStatus.CONFLICT and _reason(data) == "Conflict"
                if (response.status not in _BUSY and not clash) or _denied(response.status, data):
                    return _answer(response.status, data, f"{method} {path}")
                trouble = _message(data) or f"status {response.status}"
                wait = _retry_after(response.headers.get("Retry-After"))
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                trouble = f"{type(error).__name__}: {error}"
            if attempt == _TRIES or (wait or 0) > _LONGEST_PAUSE_S:
                break
            await self._clock.sleep(pause if wait is None else wait)
            pause *= 2
        raise Temporary(f"the Kubernetes API server does not answer {method} {path}: {trouble[:300]}")

    async def _timed(
        self, method: str, path: str, query: Mapping[str, str | int] | None, body: Mapping[str, Any] | None
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        """Send a request once, and tell how long it took, whatever came of it."""
        began, code = time.perf_counter(), "none"
        try:
            timeout = aiohttp.ClientTimeout(total=_REQUEST_S)
            async with await self._send(method, path, query, body, timeout=timeout) as response:
                data = await response.read()
            code = str(response.status)
            return response, data
        finally:
            self._timings.cluster(method.lower(), code, time.perf_counter() - began)

    async def watch(
        self, path: str, *, query: Mapping[str, str | int], seconds: float
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of a watch until the server ends it, as it is asked to after `seconds`.

        An empty event comes first: the server has accepted the watch. Raises Temporary, Expired, ApiRefused.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_REQUEST_S, sock_read=seconds + _LONGEST_PAUSE_S)
        asked = {**query, "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": max(1, round(seconds))}
        try:
            response = await self._send("GET", path, asked, None, timeout=timeout)
            async with response:
                if response.status != HTTPStatus.OK:
                    _answer(response.status, await response.read(), f"watching {path}")
                    raise Temporary(f"watching {path}: status {response.status}")
                yield {}
                async for line in response.content:
                    yield _event(line, path)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Temporary(f"watching {path} broke off: {type(error).__name__}: {error}") from None
        except ValueError as error:
            raise Temporary(f"watching {path} gave something that is no event: {error}") from None

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None,
        body: Mapping[str, Any] | None,
        *,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # aiohttp's own
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if method == "PATCH":
            headers["Content-Type"] = "application/merge-patch+json"
        method, url, headers, content, _ = await self._client.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params=headers,
            body=dict(body) if body is not None else None,
            auth_settings=["BearerToken"],
        )
        answer = await self._client.call_api(method, url, headers, content, _request_timeout=timeout)
        response: aiohttp.ClientResponse = answer.response
        return response


def _event(line: bytes, path: str) -> dict[str, Any]:
    event = json.loads(line)
    if not isinstance(event, dict) or not isinstance(event.get("object"), dict):
        raise ValueError(line[:100].decode(errors="replace"))
    if event.get("type") == "ERROR":
        status = event["object"]
        code = status.get("code", 500)
        _answer(code if isinstance(code, int) else 500, json.dumps(status).encode(), f"watching {path}")
        raise Temporary(f"watching {path}: {status.get('message')}")
    return event


def _answer(status: int, data: bytes, what: str) -> dict[str, Any]:
    """Return the object of a successful answer; raise an error of this module for any other."""
    if status < HTTPStatus.BAD_REQUEST:
        try:
            answer = json.loads(data)
        except ValueError:
            raise Temporary(f"{what}: the API server's answer is not JSON") from None
        return answer if isinstance(answer, dict) else {}
    message = _message(data) or f"status {status}"
    meaning = meaning_of(status, message)
    if meaning is Meaning.DENIED:
        raise ApiRefused(message)
    if meaning is Meaning.RIGHT:
        raise ApiForbidden(
            f"the service's account lacks a right, which an admin must give it (the chart does): {message}"
        )
    if status == HTTPStatus.NOT_FOUND:
        raise Missing(message)
    if status == HTTPStatus.CONFLICT and _reason(data) == "AlreadyExists":
        raise Exists(message)
    if status == HTTPStatus.GONE:
        raise Expired(message)
    passing = status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.CONFLICT) or status in _BUSY
    if passing or meaning is Meaning.PASSING:
        raise Temporary(f"{what}: {message}")
    raise ApiRefused(message)


def _denied(status: int, data: bytes) -> bool:
    return meaning_of(status, _message(data)) is Meaning.DENIED


def _message(data: bytes) -> str:
    return str(_status(data).get("message") or "")[:500]


def _reason(data: bytes) -> str:
    return str(_status(data).get("reason") or "")


def _status(data: bytes) -> dict[str, Any]:
    try:
        status = json.loads(data)
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


def _retry_after(text: str | None) -> float | None:
    try:
        return max(0.0, float(text or ""))
    except ValueError:
        return None


async def gather_all(*work: Any) -> None:
    """Run all of `work` at once to its end; then raise the worst error: Refused before Temporary before any other."""
    done = await asyncio.gather(*work, return_exceptions=True)
    errors = [result for result in done if isinstance(result, BaseException)]
    for kind in (ApiRefused, Temporary, BaseException):
        for error in errors:
            if isinstance(error, kind):
                raise error
