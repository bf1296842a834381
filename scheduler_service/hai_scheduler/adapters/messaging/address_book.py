"""Which addresses users may write, by the settings of the admin."""

from __future__ import annotations

from collections.abc import Sequence

from hai_scheduler.adapters.messaging.settings import MessagingSettings
from hai_scheduler.adapters.messaging.sinks import SinkFolder
from hai_scheduler.adapters.messaging.webhooks import addresses_of
from hai_scheduler.core.notifying.addresses import BadAddress, check_mail, hook_address


class SettingsAddressBook:
    """See `ports.messengers.AddressBook`."""

    def __init__(self, settings: MessagingSettings) -> None:
        self._settings = settings
        self._folder = SinkFolder(settings.sinks_dir)

    def sinks(self) -> Sequence[str]:
        """See `AddressBook.sinks`."""
        return self._folder.names()

    def sends_mail(self) -> bool:
        """See `AddressBook.sends_mail`."""
        return self._settings.mail is not None

    def check_mail(self, address: str) -> None:
        """See `AddressBook.check_mail`."""
        check_mail(address, self._settings.mail_domains)

    async def check_hook(self, url: str) -> None:
        """See `AddressBook.check_hook`."""
        try:
            await addresses_of(hook_address(url), self._settings.webhook_networks)
        except TimeoutError:
            raise BadAddress("has a name whose address could not be found out in time: try it again") from None
