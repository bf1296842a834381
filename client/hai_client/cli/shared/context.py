"""The context of a verb: where to write, and how to reach the platform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from hai_client.backports import dataclass
from hai_client.cli.shared.locale import locale_tag
from hai_client.cli.shared.output import Output
from hai_client.errors import NotLoggedIn, Unavailable

if TYPE_CHECKING:
    from hai_client.api import Client
    from hai_client.settings import Settings


#: A wait up to this needs no message, seconds.
SHORT_WAIT_S = 1.0


@dataclass(slots=True)
class Context:
    """Where to write, and how to reach the platform when it is needed."""

    out: Output
    json: bool = False
    url: str | None = None
    #: The platform that has answered, and the version that it says it is, as it was sent; None: none has said.
    heard: tuple[str, str] | None = None
    #: The platform that was called, and when the login there ends, as ISO 8601; None: no end is known.
    ends: tuple[str, str] | None = None
    _client: Client | None = field(default=None, repr=False)
    _told: bool = field(default=False, repr=False)

    def settings(self, *, need_token: bool = True) -> Settings:
        """Return the address and the token. Raises NotLoggedIn: there is no address, or no token for it."""
        # Imported here: HTTP and TLS take most of the start, and help and local runs do not need them.
        from hai_client import settings

        found = settings.load(url=self.url)
        if need_token and found.token is None:
            raise NotLoggedIn(f"token: none for {found.url}; run `hai login --url {found.url}` or set HAI_TOKEN")
        return found

    @property
    def client(self) -> Client:
        """The client for the platform, made at the first use."""
        if self._client is None:
            from hai_client.api import Client

            found = self.settings()
            self.ends = (found.url, found.ends) if found.ends else None

            def hear(version: str) -> None:
                self.heard = (found.url, version)

            # JSON is for programs: it is the same for all users.
            language = "" if self.json else locale_tag()
            self._client = Client.of(found, waiting=self.waiting, language=language, heard=hear)
        return self._client

    def answered(self, value: Any) -> bool:
        """Write a value as JSON if that is asked for, and return whether it is."""
        if self.json:
            self.out.json(value)
        return self.json

    def answer(self, value: Any, text: str) -> None:
        """Write a value as JSON if that is asked for, else a line of text."""
        if not self.answered(value):
            self.out.line(text)

    def listed(self, found: Sequence[Any], none: str) -> bool:
        """Write a list as JSON if that is asked for, or a line if it is empty; return whether one of the two is so."""
        if not self.answered({"items": found}) and not found:
            self.out.line(none)
        return self.json or not found

    def waiting(self, problem: Unavailable, waited_s: float) -> None:
        """Tell the user, once, that the platform is away and that the command waits for it."""
        if self._told or not self.out.watched or waited_s < SHORT_WAIT_S:
            return
        self._told = True
        if problem.code == "too_many":
            self.out.note(
                "you ask the platform for more than your share at once; waiting for your turn (Ctrl-C ends this)"
            )
            return
        restarting = problem.code == "restarting"
        why = "the platform is restarting" if restarting else problem.message.partition(";")[0].rstrip(".")
        self.out.note(f"{why}; trying again for half a minute (Ctrl-C ends this)")
