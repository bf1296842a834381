"""A login by way of a browser on any machine: the device grant of RFC 8628, as the Hub of HAI gives it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any
from urllib.parse import urlencode

from hai_client.backports import dataclass
from hai_client.codec import decode
from hai_client.errors import HaiError, NotLoggedIn, Unavailable
from hai_client.http import Transport
from hai_client.hub import HubToken

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
#: What is added to the seconds between two questions when the Hub says `slow_down` (RFC 8628, 3.5).
SLOWER_S = 5.0
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
#: Longest wait between two questions, in seconds, unless the Hub asks for more by `slow_down`.
_LONGEST_S = 30.0
_ADDRESS = re.compile(r"https?://[\x21-\x7e]{1,500}")
_CODE = re.compile(r"[A-Z0-9-]{4,20}")


class NoDeviceLogins(HaiError):
    """This Hub has no logins by way of a browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLogin:
    """A login that waits for a person."""

    device_code: str = field(repr=False)
    user_code: str  #: What the person types.
    expires_in: int  #: Seconds for which the codes are good.
    interval: int = 5  #: Seconds between two questions (5: RFC 8628, 3.2).
    public_uri: str = ""  #: Where the person types it, as the Hub's own setting says; empty: it has none.
    page: str = ""  #: Where the person types it. `begin` says.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    access_token: str = field(repr=False)
    user: str
    expires_at: str
    scope: str = ""


class DeviceLogins:
    """The Hub's endpoints for such logins.

    Args:
        url: The Hub's address.
        waiting: Called before each wait for a Hub that restarts, with the reason and the seconds waited so far.
        sleep: Waits some seconds.
        clock: Returns monotonic time in seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        waiting: Callable[[Unavailable, float], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url, self._page = url, f"{url}/hub/hai/device"
        self._http = Transport(self._page, waiting=waiting)
        self._sleep, self._clock = sleep, clock

    def begin(self, host: str, rights: str) -> DeviceLogin:
        """Begin a login.

        Args:
            host: What this machine is called; the page shows it.
            rights: `tasks` or `admin`.

        Raises:
            NoDeviceLogins: The Hub knows no such logins.
            HaiError: It gives no codes.
        """
        try:
            found = decode(DeviceLogin, self._post("/code", client_id="hai", host=host, scope=rights))
        except HaiError as error:
            if error.status in (403, 404, 405) and self._is_older_hub():
                raise NoDeviceLogins(f"{self._page} is no page of this Hub") from None
            raise
        if _CODE.fullmatch(found.user_code) is None:
            raise Unavailable(f"{self._page} gave a code that nobody can type; is the address right?")
        public = found.public_uri
        # A setting that names an address without TLS leads nobody away from one that has it.
        better = _ADDRESS.fullmatch(public) and (public.startswith("https:") or not self._url.startswith("https:"))
        return replace(found, page=public if better else self._page)

    def _is_older_hub(self) -> bool:
        """Return whether there is a Hub which has no such page: it tells its version, and 404 of the page.

        A refusal alone does not say it: the Hub's own comes as 403, as do those of proxies.
        """
        try:
            self._http.call("GET", "/code", again=False)
        except HaiError as error:
            if error.status != 404:
                return False
        else:
            return False
        try:
            hub = Transport(f"{self._url}/hub/api").call("GET", "/", again=False)
        except HaiError:
            return False
        return isinstance(hub, dict) and isinstance(hub.get("version"), str)

    def wait(self, login: DeviceLogin) -> HubToken:
        """Wait until the person has answered, and return the token.

        Raises:
            NotLoggedIn: The person said no, or nothing in time.
            Unavailable: The Hub gave no answer at the end of that time.
        """
        interval, until = float(min(max(login.interval, 1), _LONGEST_S)), self._clock() + login.expires_in
        lost: Unavailable | None = None
        while self._clock() < until:
            self._sleep(interval)
            try:
                answer = self._post("/token", client_id="hai", grant_type=GRANT, device_code=login.device_code)
                given = decode(_Given, answer)
                return decode(
                    HubToken,
                    {
                        "token": given.access_token,
                        "user": given.user,
                        "expires_at": given.expires_at,
                        "scopes": given.scope.split(),
                    },
                )
            except Unavailable as error:
                lost = error
                interval = min(interval + SLOWER_S, max(interval, _LONGEST_S))
            except HaiError as error:
                lost = None
                if error.code == "slow_down":
                    interval += SLOWER_S
                elif error.code != "authorization_pending":
                    raise NotLoggedIn(f"login: {error.message}", code=error.code, status=error.status) from None
        raise lost or NotLoggedIn("login: nobody has typed the code in time; run `hai login` again")

    def _post(self, path: str, **fields: str) -> Any:
        return self._http.call("POST", path, body=urlencode(fields, errors="replace").encode(), headers=_FORM)
