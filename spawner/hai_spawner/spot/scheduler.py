"""Send requests to the scheduler service in the name of a spot container's owner, with a token of that user.

The Hub makes the token for an hour, with no other right than to submit and change the user's own tasks. So every rule
of the service (rights, quota, visibility) holds as if the user had typed `hai submit`. The Hub's own service needs no
right to act for other users, which an attacker in that service would also have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

from hai_spawner.containers.service import ServiceAnswer, ServiceUnanswered, ask

#: Scopes of the token: access to the service, and changes to its owner's tasks.
SCOPES: Final = ("custom:hai:tasks:write", "access:services!service=hai")
#: Seconds for which a token is valid, and seconds before its end at which it is replaced.
TOKEN_LIFE_S: Final = 3600
_RENEWED_S: Final = 300
_TIMEOUT_S: Final = 15.0


class SchedulerError(Exception):
    """The service refused a request or did not answer; the text says why, and holds no secret.

    Attributes:
        status: HTTP status of the answer; None: there was no answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    @property
    def temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status is None or self.status >= 500 or self.status == 429


class NoToken(SchedulerError):
    """The user holds too few rights for a token."""

    def __init__(self) -> None:
        super().__init__("you may not submit tasks; ask an administrator for the right", 403)


class Tokens:
    """Keeps one token for each user while it is valid."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[str, float]] = {}

    def of(self, user: Any) -> str:
        """Return a token of a user (JupyterHub's `User`).

        Raises:
            NoToken: The user lacks the rights that the token needs.
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
        """Drop a user's token, because it is no longer valid."""
        self._kept.pop(user.name, None)


class Scheduler:
    """Sends the requests of one user.

    Args:
        api_url: Base of the REST interface.
        user: JupyterHub's `User`.
        tokens: Keeps the tokens of all users.
    """

    def __init__(self, api_url: str, user: Any, tokens: Tokens) -> None:
        self._api_url = api_url.rstrip("/")
        self._user = user
        self._tokens = tokens

    async def submit(self, body: Mapping[str, Any], key: str) -> int:
        """Submit a task; returns its id. A repeated request with the same key submits no second task.

        Raises:
            SchedulerError: The service refuses the task or does not answer.
        """
        return int((await self._call("POST", "/tasks", body=body, headers={"Idempotency-Key": key}))["id"])

    async def task(self, task_id: int) -> dict[str, Any] | None:
        """Return a task with its runs; None if there is no such task.

        Raises:
            SchedulerError: The service does not answer.
        """
        return await self._unless_missing("GET", f"/tasks/{task_id}")

    async def explain(self, task_id: int) -> dict[str, Any] | None:
        """Return why a task waits; None if there is no such task.

        Raises:
            SchedulerError: The service does not answer.
        """
        return await self._unless_missing("GET", f"/tasks/{task_id}/explain")

    async def resume(self, task_id: int) -> None:
        """Resume a held task. Raises SchedulerError: the task has ended, or the service does not answer."""
        await self._call("POST", f"/tasks/{task_id}/resume")

    async def stop(self, task_id: int) -> None:
        """Stop a task for good; no error if it has ended already.

        Raises:
            SchedulerError: The service does not answer.
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
        answer = await self._ask(method, path, body, headers)
        if answer.status == 401:
            # The owner or an administrator has revoked the token.
            self._tokens.forget(self._user)
            answer = await self._ask(method, path, body, headers)
        if 200 <= answer.status < 300:
            return answer.body if isinstance(answer.body, dict) else {}
        raise SchedulerError(answer.detail or f"the scheduler service answers {answer.status}", answer.status)

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str] | None
    ) -> ServiceAnswer:
        token, url = self._tokens.of(self._user), self._api_url + quote(path)
        try:
            return await ask(method, url, token, body=body, headers=headers, timeout_s=_TIMEOUT_S)
        except ServiceUnanswered as error:
            raise SchedulerError(str(error)) from None
