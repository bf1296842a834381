"""A login by way of a browser on any machine: the device grant of RFC 8628, as the Hub of HAI gives it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import field
from typing import Any
from urllib.parse import urlencode

from hai_client.backports import dataclass
from hai_client.codec import decode
from hai_client.errors import Forbidden, HaiError, NotFound, NotLoggedIn, Unavailable
from hai_client.http import Transport
from hai_client.hub import HubToken

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
#: What is added to the seconds between two questions when the Hub says `slow_down` (RFC 8628, 3.5).
SLOWER_S = 5.0
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_CODE = re.compile(r"[A-Z0-9-]{4,20}")


class NoDeviceLogins(HaiError):
    """This Hub has no logins by way of a browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLogin:
    """A login that waits for a person."""

    device_code: str = field(repr=False)
    user_code: str  #: What the person types.
    expires_in: int  #: Seconds for which the codes are good.
    interval: int  #: Seconds between two questions.


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
        self.page = f"{url}/hub/hai/device"  #: Where the person types the code.
        self._http = Transport(self.page, waiting=waiting)
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
        except (NotFound, Forbidden, Unavailable) as error:
            # A Hub without HAI answers with a page, whatever is posted there.
            if error.status in (403, 404, 405):
                raise NoDeviceLogins(f"{self.page} is no page of this Hub") from None
            raise
        if _CODE.fullmatch(found.user_code) is None:
            raise Unavailable(f"{self.page} gave a code that nobody can type; is the address right?")
        return found

    def wait(self, login: DeviceLogin) -> HubToken:
        """Wait until the person has answered, and return the token.

        Raises:
            NotLoggedIn: The person said no, or nothing in time.
        """
        interval, until = float(max(login.interval, 1)), self._clock() + login.expires_in
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
            except Unavailable:
                continue
            except HaiError as error:
                if error.code == "slow_down":
                    interval += SLOWER_S
                elif error.code != "authorization_pending":
                    raise NotLoggedIn(f"login: {error.message}", code=error.code, status=error.status) from None
        raise NotLoggedIn("login: nobody has typed the code in time; run `hai login` again")

    def _post(self, path: str, **fields: str) -> Any:
        return self._http.call("POST", path, body=urlencode(fields, errors="replace").encode(), headers=_FORM)
