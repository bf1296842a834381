"""The scheduler service as a spot container's spawner uses it: in the name of the server's owner, with a token of his.

The Hub makes the token for an hour, with the right to submit and steer his own tasks and no other. So every rule of
the service (rights, quota, what he may see) holds as if he had typed `hai submit`; the Hub's own service needs no
right to act for others, which whoever broke into it would have as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

import aiohttp

#: What the token may do: enter the service, and act on its owner's tasks.
SCOPES: Final = ("custom:hai:tasks:write", "access:services!service=hai")
#: How long a token is good for, and how long before its end it is replaced, in seconds.
TOKEN_LIFE_S: Final = 3600
_RENEWED_S: Final = 300
_TIMEOUT: Final = aiohttp.ClientTimeout(total=15, sock_connect=5)


class SchedulerError(Exception):
    """The service did not do it; the text says why, and holds no secret.

    Attributes:
        status: Its answer; None: it did not answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    @property
    def temporary(self) -> bool:
        """Whether it may be different in a moment."""
        return self.status is None or self.status >= 500 or self.status == 429


class NoToken(SchedulerError):
    """The user holds too few rights for a token."""

    def __init__(self) -> None:
        super().__init__("you may not submit tasks; ask an administrator for the right", 403)


class Tokens:
    """One token a user, as long as it is good."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[str, float]] = {}

    def of(self, user: Any) -> str:
        """A token of the user (JupyterHub's `User`).

        Raises:
            NoToken: He may not do himself what the token is for.
        """
        token, good_until = self._kept.get(user.name, ("", 0.0))
        if self._clock() < good_until:
            return token
        try:
            token = str(user.new_api_token(note="spot container", scopes=list(SCOPES), expires_in=TOKEN_LIFE_S))
        except ValueError:
            raise NoToken from None
        self._kept[user.name] = (token, self._clock() + TOKEN_LIFE_S - _RENEWED_S)
        return token

    def forget(self, user: Any) -> None:
        """The token is not good any more."""
        self._kept.pop(user.name, None)


class Scheduler:
    """Calls of one user.

    Args:
        api_url: Base of the REST interface.
        user: JupyterHub's `User`.
        tokens: Where his token is kept.
    """

    def __init__(self, api_url: str, user: Any, tokens: Tokens) -> None:
        self._api_url = api_url.rstrip("/")
        self._user = user
        self._tokens = tokens

    async def submit(self, body: Mapping[str, Any], key: str) -> int:
        """Submit a task; its id. Repeating it with the same key is harmless.

        Raises:
            SchedulerError: It is refused, or cannot be asked.
        """
        return int((await self._call("POST", "/tasks", body=body, headers={"Idempotency-Key": key}))["id"])

    async def task(self, task_id: int) -> dict[str, Any] | None:
        """A task with its runs; None if there is none.

        Raises:
            SchedulerError: It cannot be asked.
        """
        return await self._unless_missing("GET", f"/tasks/{task_id}")

    async def explain(self, task_id: int) -> dict[str, Any] | None:
        """Why a task waits; None if there is none.

        Raises:
            SchedulerError: It cannot be asked.
        """
        return await self._unless_missing("GET", f"/tasks/{task_id}/explain")

    async def resume(self, task_id: int) -> None:
        """Let a held task have its turns again.

        Raises:
            SchedulerError: It has ended, or the service cannot be asked.
        """
        await self._call("POST", f"/tasks/{task_id}/resume")

    async def stop(self, task_id: int) -> None:
        """End a task for good; one that has ended is fine.

        Raises:
            SchedulerError: It cannot be asked.
        """
        try:
            await self._unless_missing("POST", f"/tasks/{task_id}/stop")
        except SchedulerError as error:
            if error.status != 409:
                raise

    async def _unless_missing(self, method: str, path: str) -> dict[str, Any] | None:
        try:
            return await self._call(method, path)
        except SchedulerError as error:
            if error.status == 404:
                return None
            raise

    async def _call(
        self, method: str, path: str, *, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        for attempt in (1, 2):
            status, found = await self._ask(method, path, body, headers or {})
            if status != 401 or attempt == 2:
                break
            # Revoked by its owner, or by an administrator.
            self._tokens.forget(self._user)
        if 200 <= status < 300:
            return found
        detail = str(found.get("detail") or "")
        raise SchedulerError(detail or f"the scheduler service answers {status}", status)

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]]:
        sent = {"Authorization": f"Bearer {self._tokens.of(self._user)}", "Accept": "application/json", **headers}
        try:
            # A proxy of the environment has no business with the token: aiohttp heeds none unless told to.
            async with (
                aiohttp.ClientSession(timeout=_TIMEOUT) as session,
                session.request(
                    method, self._api_url + quote(path), json=body, headers=sent, allow_redirects=False
                ) as answer,
            ):
                found = await answer.json(content_type=None)
                return answer.status, found if isinstance(found, dict) else {}
        except (OSError, aiohttp.ClientError, TimeoutError, ValueError) as error:
            message = f"the scheduler service does not answer ({type(error).__name__})"
            raise SchedulerError(message) from None
