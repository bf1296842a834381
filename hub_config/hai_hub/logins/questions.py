"""Ask a provider of logins about users, one question at a time for each, and write down what has changed."""

from __future__ import annotations

import asyncio
import time
from enum import Enum
from typing import Any, Final

from tornado.web import HTTPError

#: Seconds that a request waits for the provider; the question itself goes on.
_PATIENCE_S: Final = 5.0
#: Seconds after a provider has not answered in which requests do not wait for it.
_AWAY_S: Final = 15.0
#: Since when the provider does not know a login any more, in `auth_state`: seconds since 1970.
_ENDED_AT: Final = "hai_ended_at"


class Ended(Exception):
    """The provider does not know this login any more, and says nothing of the user."""


class Gone(Exception):
    """The provider answers, and the user is not there any more, or may not sign in any more."""


class Away(Exception):
    """The provider does not answer as it should; the text is a sentence with field, value and remedy."""


class LoginState(Enum):
    """What the provider last said of a user."""

    CURRENT = "current"
    ENDED = "ended"
    GONE = "gone"
    AWAY = "away"


class Questions:
    """The questions of one authenticator.

    Args:
        asker: The authenticator, an `InStep`.
    """

    def __init__(self, asker: Any) -> None:
        self._asker = asker
        self._open: dict[str, asyncio.Task[LoginState]] = {}
        self._away_at = -_AWAY_S
        self._is_away = False
        self._gone: set[str] = set()

    async def soon(self, user: Any) -> LoginState:
        """Return what the provider says within some seconds; AWAY if it has not answered by then."""
        if time.monotonic() - self._away_at < _AWAY_S:
            return LoginState.AWAY
        try:
            return await asyncio.wait_for(asyncio.shield(self.ask(user)), _PATIENCE_S)
        except TimeoutError:
            return LoginState.AWAY

    def ask(self, user: Any) -> asyncio.Task[LoginState]:
        """Ask the provider about a user, and write down what has changed; those who ask at once share one question.

        It goes on if nobody waits for it: a provider may take each refresh token once, and the new one must be kept.
        """
        found = self._open.get(user.name)
        if found is None:
            found = asyncio.create_task(self._ask(user))
            self._open[user.name] = found
            found.add_done_callback(lambda _: self._open.pop(user.name, None))
        return found

    async def _ask(self, user: Any) -> LoginState:
        state = await user.get_auth_state() or {}
        if _ENDED_AT in state:
            return self._after_the_end(user, state)
        try:
            model = await self._asker.ask_again(user.name, state)
            await _check_still(self._asker, user.name, model)
        except Ended:
            if state:
                self._asker.log.info(
                    "The provider has ended the login of %s: no groups until the next login", user.name
                )
                await user.save_auth_state({**state, _ENDED_AT: time.time()})
            return self._after_the_end(user, {**state, _ENDED_AT: time.time()})
        except Gone as gone:
            user.sync_groups([])
            # Else JupyterHub would not ask at the next requests.
            user._auth_refreshed = None
            if user.name not in self._gone:
                self._gone.add(user.name)
                self._asker.log.warning("%s may not sign in any more and has no groups: %s", user.name, gone)
            return LoginState.GONE
        except Away as away:
            self._note_away(str(away))
            return LoginState.AWAY
        self._note_back()
        self._gone.discard(user.name)
        user.sync_groups(model["groups"])
        if model["auth_state"] != state:
            await user.save_auth_state(model["auth_state"])
        user._auth_refreshed = time.monotonic()
        return LoginState.CURRENT

    def _after_the_end(self, user: Any, state: dict[str, Any]) -> LoginState:
        if time.time() - state[_ENDED_AT] >= self._asker.keep_groups_s:
            user.sync_groups([])
        user._auth_refreshed = None
        return LoginState.ENDED

    def _note_away(self, sentence: str) -> None:
        self._away_at = time.monotonic()
        if not self._is_away:
            self._is_away = True
            self._asker.log.error("%s Groups and sessions stay as they are until it answers.", sentence)

    def _note_back(self) -> None:
        if self._is_away:
            self._is_away = False
            self._asker.log.info("The provider of logins answers again")


async def _check_still(asker: Any, name: str, model: dict[str, Any]) -> None:
    """Raise Gone if the user may not sign in any more: JupyterHub asks this at logins alone."""
    if asker.allow_all:
        return
    try:
        if not await asker.check_allowed(name, model):
            raise Gone("no setting allows this user")
    except HTTPError as refused:
        raise Gone(refused.log_message) from None
