"""Ask a provider of logins about users, one question at a time for each, and write down what has changed."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from tornado.web import HTTPError

#: Seconds that a request waits for the provider; the question itself goes on.
_PATIENCE_S: Final = 5.0
#: Seconds after a provider has not answered in which requests do not wait for it.
_AWAY_S: Final = 15.0
#: About how many users it must have failed to answer in that time, and answered about nobody since, so that no request
#: waits for it.
_SEVERAL: Final = 3
#: Seconds for which groups are kept of a user about whom alone it does not answer: the user may see to that, for
#: example by using up the user's own share of requests.
UNANSWERED_S: Final = 3600.0
#: What comes of an answer that has not the shape that it should have.
_MISSHAPEN: Final = (AttributeError, LookupError, RecursionError, TypeError, ValueError, HTTPError)
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


@dataclass(frozen=True, slots=True)
class _Unanswered:
    """A user about whom the provider does not answer."""

    since: float  #: Since when, without a time in which it answered about nobody.
    last: float  #: When it was last asked.
    sentence: str


class Questions:
    """The questions of one authenticator.

    What comes of a question about one user costs others nothing: a user may have a part in it.

    Args:
        asker: The authenticator, an `InStep`.
        clock: Returns monotonic time in seconds.
    """

    def __init__(self, asker: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._asker, self._clock = asker, clock
        self._open: dict[str, asyncio.Task[LoginState]] = {}
        self._unanswered: dict[str, _Unanswered] = {}
        self._answered_at = -math.inf
        self._gone: set[str] = set()

    async def soon(self, user: Any) -> LoginState:
        """Return what the provider says within some seconds; AWAY if it has not answered by then."""
        if self._is_away(user.name):
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
            model = await self._asked(user.name, state)
            await _check_still(self._asker, user.name, model)
        except Ended:
            self._note_answer(user.name)
            if state:
                self._asker.log.info(
                    "The provider has ended the login of %s: no groups until the next login", user.name
                )
                await user.save_auth_state({**state, _ENDED_AT: time.time()})
            return self._after_the_end(user, {**state, _ENDED_AT: time.time()})
        except Gone as gone:
            self._note_answer(user.name)
            user.sync_groups([])
            # Else JupyterHub would not ask at the next requests.
            user._auth_refreshed = None
            if user.name not in self._gone:
                self._gone.add(user.name)
                self._asker.log.warning("%s may not sign in any more and has no groups: %s", user.name, gone)
            return LoginState.GONE
        except Away as away:
            return self._after_silence(user, str(away))
        self._note_answer(user.name)
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

    async def _asked(self, name: str, state: dict[str, Any]) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await self._asker.ask_again(name, state)
        except _MISSHAPEN as error:
            raise misshapen(error) from None
        return found

    def _is_away(self, name: str) -> bool:
        """Return whether a question about this user would be one too many now."""
        now = self._clock()
        if (own := self._unanswered.get(name)) is not None and now - own.last < _AWAY_S:
            return True
        since = max(self._answered_at, now - _AWAY_S)
        return sum(each.last > since for each in self._unanswered.values()) >= _SEVERAL

    def _after_silence(self, user: Any, sentence: str) -> LoginState:
        now, before = self._clock(), self._unanswered.get(user.name)
        if sentence not in {each.sentence for each in self._unanswered.values()}:
            self._asker.log.error("%s Groups and sessions stay as they are until it answers.", sentence)
        # Only the time counts in which it answered about others between two questions about this user.
        since = before.since if before is not None and self._answered_at >= before.last else now
        self._unanswered[user.name] = _Unanswered(since, now, sentence)
        if now - since < UNANSWERED_S:
            return LoginState.AWAY
        self._asker.say_once(
            f"silence about {user.name}",
            f"There was no answer about {user.name} for an hour, and about others there was: as if the login had ended",
        )
        return self._after_the_end(user, {_ENDED_AT: time.time() - (now - since)})

    def _note_answer(self, name: str) -> None:
        self._answered_at = self._clock()
        own = self._unanswered.pop(name, None)
        if own is not None and own.sentence not in {each.sentence for each in self._unanswered.values()}:
            self._asker.log.info("The provider of logins answers again")


def misshapen(error: BaseException) -> Away:
    """Return the error of an answer that has not the shape that it should have."""
    return Away(f"logins: the provider answers in a shape that is not known ({type(error).__name__}): see its own log.")


async def _check_still(asker: Any, name: str, model: dict[str, Any]) -> None:
    """Raise Gone if the user may not sign in any more: JupyterHub asks this at logins alone."""
    if asker.allow_all:
        return
    try:
        if not await asker.check_allowed(name, model):
            raise Gone("no setting allows this user")
    except HTTPError as refused:
        raise Gone(refused.log_message) from None
