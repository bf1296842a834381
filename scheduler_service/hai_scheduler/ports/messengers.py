"""The port to what carries messages to people: mail, webhooks, and the sinks that admins have set up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from hai_scheduler.ports.secret import Secret


class Undelivered(Exception):
    """A message was not accepted; the text says why, for the user who gets it, without a secret."""

    def __init__(self, words: str, *, hopeless: bool = False) -> None:
        super().__init__(words)
        #: Whether no further attempt can succeed.
        self.hopeless = hopeless


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """A message for one user over one channel. Sent again after a crash, it is the same, with the same id."""

    id: str
    user: str
    at: datetime
    #: One line, without control characters.
    subject: str
    #: Further lines; the last ones of a log, or the parts of a digest.
    lines: Sequence[str] = ()
    #: The same for programs: JSON.
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """Where a message goes: a mail address, the address of a webhook, or the name of a sink."""

    address: str
    #: The key of signatures, for a webhook.
    secret: Secret | None = None


class Messenger(Protocol):
    """Carries messages over one kind of channel."""

    async def send(self, to: Recipient, message: OutgoingMessage) -> None:
        """Hand a message over, within a bounded time; when it returns, the other side has accepted it.

        Raises:
            Undelivered: It was not accepted, or nothing is known of it.
        """
        ...


class AddressBook(Protocol):
    """What this platform sends to: which channels there are, and which addresses users may write."""

    def sinks(self) -> Sequence[str]:
        """The names of the sinks that users may choose, sorted."""
        ...

    def sends_mail(self) -> bool:
        """Whether an admin has set up mail."""
        ...

    def check_mail(self, address: str) -> None:
        """Check a mail address. Raises `core.notifying.addresses.BadAddress`."""
        ...

    async def check_hook(self, url: str) -> None:
        """Check the address of a webhook, and what its name stands for now.

        Raises `core.notifying.addresses.BadAddress`.
        """
        ...
