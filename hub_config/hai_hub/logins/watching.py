"""Ask the provider of logins about users who send no request, and have tasks: their quota goes by their groups."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from hai_hub.config.database_errors import roll_back
from hai_hub.logins.archived_users import NO_ANSWER, names_at, service_token
from hai_hub.logins.in_step import InStep

log = logging.getLogger("hai_hub")

#: Users about whom the provider is asked at the same time.
AT_ONCE: Final = 8
#: Seconds that the service may take to answer.
_PATIENCE_S: Final = 10.0

#: Returns the names of users with live tasks; the argument is the service's token. Raises one of `NO_ANSWER`.
Active = Callable[[str], Awaitable[frozenset[str]]]


def asking_active(api_url: str) -> Active:
    """Return what asks the scheduler service.

    Args:
        api_url: Base of the scheduler's REST interface as the Hub reaches it.
    """
    return lambda token: names_at(api_url, "active-users", "users", token, _PATIENCE_S)


class Watch:
    """Looks at users with tasks or servers regularly, if the Hub's authenticator can ask about them."""

    def __init__(self, active: Active) -> None:
        self._active = active
        #: Who had tasks when the service last said it.
        self._names: frozenset[str] = frozenset()

    async def __call__(self, handler: Any) -> None:
        """Look until it is cancelled.

        Args:
            handler: Any handler of the Hub: it leads to its users and settings.
        """
        authenticator = handler.authenticator
        if not isinstance(authenticator, InStep):
            return
        while True:
            try:
                await self.look(handler, authenticator)
            except Exception as error:  # noqa: BLE001  # this must outlive any error: the next look tries again
                roll_back(handler.db, error)
                log.warning("Groups of users are looked at again: %s", type(error).__name__)
            await asyncio.sleep(authenticator.look_every_s)

    async def look(self, handler: Any, authenticator: InStep) -> None:
        """Ask once about each of them."""
        try:
            self._names = await self._active(service_token(handler))
        except NO_ANSWER as error:
            log.debug("Who has tasks is not known now: %s", type(error).__name__)
        few = asyncio.Semaphore(AT_ONCE)

        async def one(user: Any) -> None:
            async with few:
                await authenticator.questions.ask(user)

        users = [user for name in sorted(self._names) if (user := handler.find_user(name)) is not None]
        users += [user for user in handler.users.values() if user.name not in self._names and user.active]
        done = await asyncio.gather(*map(one, users), return_exceptions=True)
        for failed in (each for each in done if isinstance(each, Exception)):
            roll_back(handler.db, failed)
            log.warning("The groups of a user are looked at again: %s", type(failed).__name__)
