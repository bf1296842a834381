"""The sinks of admins: a folder with a file for each, which holds an address of apprise.

The file's name is what users choose. Addresses of apprise hold tokens: no error and no log shows one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hai_scheduler.ports.messengers import OutgoingMessage, Recipient, Undelivered

#: The name of a sink. Kubernetes puts further entries into the folder of a Secret, which begin with a dot.
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
#: Seconds that a sink may take.
WHOLE_S: Final = 30.0


class SinkFolder:
    """The folder of sinks. It is read each time: admins add and change sinks while the service runs."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def names(self) -> Sequence[str]:
        """Return the names of all sinks, sorted; none for a folder that cannot be read."""
        if self._folder is None:
            return ()
        try:
            found = [one.name for one in self._folder.iterdir() if NAME.fullmatch(one.name) and one.is_file()]
        except OSError:
            return ()
        return sorted(found)

    def address(self, name: str) -> str:
        """Return the address of a sink. Raises Undelivered if there is none."""
        if self._folder is None or not NAME.fullmatch(name):
            raise Undelivered(f"there is no sink {name!r:.80} any more: choose another one", hopeless=True)
        try:
            address = (self._folder / name).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            raise Undelivered(f"there is no sink {name!r:.80} any more: choose another one", hopeless=True) from None
        except (OSError, UnicodeDecodeError) as error:
            raise Undelivered(
                f"the file of sink {name} cannot be read ({type(error).__name__}): tell an admin"
            ) from None
        if not address:
            raise Undelivered(f"the file of sink {name} is empty: tell an admin")
        return address


class AppriseMessenger:
    """See `ports.messengers.Messenger`. apprise is loaded when the first message goes to a sink."""

    def __init__(self, folder: SinkFolder) -> None:
        self._folder = folder

    async def send(self, to: Recipient, message: OutgoingMessage) -> None:
        """See `Messenger.send`."""
        address = await asyncio.to_thread(self._folder.address, to.address)
        try:
            async with asyncio.timeout(WHOLE_S):
                accepted = await asyncio.to_thread(_notify, address, message)
        except TimeoutError:
            raise Undelivered(f"the sink {to.address} takes too long") from None
        except ModuleNotFoundError:
            raise Undelivered(
                f"the sink {to.address} needs apprise, which is missing: an admin installs 'hai-platform[notify]'"
            ) from None
        if not accepted:
            raise Undelivered(f"the sink {to.address} has not accepted the message: tell an admin")


def _notify(address: str, message: OutgoingMessage) -> bool:
    import apprise

    sink: Any = apprise.Apprise()
    if not sink.add(address):
        return False
    body = "\n".join([f"For {message.user}: {message.subject}", *message.lines])
    return bool(sink.notify(title="HAI", body=body, body_format=apprise.NotifyFormat.TEXT))
