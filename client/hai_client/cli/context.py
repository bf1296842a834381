"""What a verb is given to work with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hai_client.cli.output import Output
from hai_client.errors import NotLoggedIn

if TYPE_CHECKING:
    from hai_client.api import Client
    from hai_client.settings import Settings


@dataclass(slots=True)
class Context:
    """Where to write, and how to reach the platform when it is needed."""

    out: Output
    json: bool = False
    url: str | None = None
    _client: Client | None = field(default=None, repr=False)

    def settings(self, *, need_token: bool = True) -> Settings:
        """Address and token.

        Raises:
            NotLoggedIn: There is no address, or no token for it.
        """
        # HTTP and TLS take most of the start; help and local runs do without them.
        from hai_client import settings

        found = settings.load(url=self.url)
        if need_token and found.token is None:
            raise NotLoggedIn(f"token: none for {found.url}; run `hai login --url {found.url}` or set HAI_TOKEN")
        return found

    @property
    def client(self) -> Client:
        """The platform."""
        if self._client is None:
            from hai_client.api import Client

            self._client = Client.of(self.settings())
        return self._client
