"""The Hub's part of `hai login`: how a command asks for a token (RFC 8628), and the page on which a person says yes.

JupyterHub's own OAuth does not fit: it refuses clients without a secret, and a command cannot keep one.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from jupyterhub.apihandlers.base import APIHandler
from jupyterhub.handlers.base import BaseHandler
from jupyterhub.utils import isoformat, url_path_join
from tornado.web import HTTPError, authenticated

from hai_hub.config.roles import ACCESS, LOGIN_RIGHTS, READ
from hai_hub.logins.device_grants import (
    INTERVAL_S,
    LIFETIME_S,
    MOST_OF_ADDRESS,
    Consent,
    DeviceGrants,
    Login,
    TooManyLogins,
)
from hai_hub.logins.device_texts import texts_for
from hai_hub.logins.login_guard import address_of, too_many
from hai_hub.logins.slowing import Guessing
from hai_hub.logins.user_limits import MOST_TOKENS, tokens_of

#: Paths below the Hub's prefix.
DEVICE: Final = r"/hai/device"
_BEGIN: Final = r"/hai/device/code"
_TOKEN: Final = r"/hai/device/token"  # noqa: S105  # a path
_OWN: Final = r"/hai/token"
#: Days for which a token is good.
DAYS: Final = 30
_DAY_S: Final = 86_400
#: The name that RFC 8628 gives to this way.
GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_SENTENCES: Final = {
    "authorization_pending": "nobody has said yes or no yet",
    "slow_down": "asked too soon: wait 5 s longer each time",
    "access_denied": "the person in the browser said no",
    "expired_token": "the code is too old or used, or the Hub has restarted: run `hai login` again",
}


def install_device_logins() -> None:
    """Add the endpoints and the page to this Hub process."""
    from jupyterhub import apihandlers

    given: dict[str, Any] = {"grants": DeviceGrants()}
    routes: list[Any] = [
        (DEVICE, DevicePage, {**given, "guessing": Guessing()}),
        (_BEGIN, DeviceCode, given),
        (_TOKEN, DeviceToken, given),
        (_OWN, OwnToken),
    ]
    ours = {route[0] for route in routes}
    others = [route for route in apihandlers.default_handlers if route[0] not in ours]
    apihandlers.default_handlers[:] = [*others, *routes]


class _Endpoint(APIHandler):
    """An endpoint for commands, which have no cookie."""

    def initialize(self, grants: DeviceGrants) -> None:
        """Store the argument of the routing table; tornado calls this."""
        self._grants = grants

    def check_xsrf_cookie(self) -> None:
        """Refuse browsers: a page of another site could fill the table of logins with requests of theirs."""
        if "Origin" in self.request.headers or "Sec-Fetch-Site" in self.request.headers:
            raise HTTPError(403, "this is for the hai command, not for pages")

    def _answer(self, body: dict[str, Any], status: int = 200) -> None:
        self.set_status(status)
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(body))

    def _refuse(self, error: str, sentence: str = "") -> None:
        text = sentence or _SENTENCES[error]
        # `error` and `error_description` are RFC 6749's; `code` and `message` are read by the `hai` command.
        self._answer({"error": error, "error_description": text, "code": error, "message": text}, 400)


class DeviceCode(_Endpoint):
    """Begins a login: gives the command its secret code, and a code for the person."""

    async def post(self) -> None:
        """Begin."""
        rights = self.get_body_argument("scope", "tasks")
        if rights not in LOGIN_RIGHTS:
            self._refuse("invalid_scope", f"scope: write one of {', '.join(LOGIN_RIGHTS)}")
            return
        host, address = self.get_body_argument("host", ""), address_of(self.request)
        try:
            begun = self._grants.begin(host, address, rights)
        except TooManyLogins:
            raise too_many(
                f"Too many logins wait for an answer, here or at your address (at most {MOST_OF_ADDRESS}): try again "
                "in some minutes, or log in with --user NAME or --token-stdin",
                60,
            ) from None
        self._answer(
            {
                "device_code": begun.device_code,
                "user_code": begun.user_code,
                "verification_uri": self._page(),
                "expires_in": int(LIFETIME_S),
                "interval": int(INTERVAL_S),
            }
        )

    def _page(self) -> str:
        own = f"{self.request.protocol}://{self.request.host}/"
        public = self.settings.get("public_url")
        if public:
            own = f"{public.scheme}://{public.netloc}/"
        return str(url_path_join(own, self.hub.base_url, DEVICE))


class DeviceToken(_Endpoint):
    """Says to the command that waits how its login stands, and gives it its token, once."""

    async def post(self) -> None:
        """Answer."""
        if self.get_body_argument("grant_type", "") != GRANT:
            return self._refuse("unsupported_grant_type", f"grant_type: write {GRANT}")
        answer, login = self._grants.ask(self.get_body_argument("device_code", ""))
        if login is None or login.consent is None:
            return self._refuse(answer)
        return self._give(login, login.consent)

    def _give(self, login: Login, consent: Consent) -> None:
        user = self.find_user(consent.name)
        if user is None or user.orm_user.id != consent.user_id:
            return self._refuse("access_denied", f"there is no user {consent.name} any more")
        if tokens_of(user.orm_user) >= MOST_TOKENS:
            return self._refuse(
                "access_denied",
                f"{user.name} has {MOST_TOKENS} tokens, which is the most: revoke some on the Hub's page /hub/token",
            )
        lasts_s = min(DAYS * _DAY_S, self.settings.get("token_expires_in_max_seconds") or DAYS * _DAY_S)
        ends_at = datetime.now(UTC) + timedelta(seconds=lasts_s)
        try:
            token = user.orm_user.new_api_token(
                note=f"hai login, {login.host}", expires_in=lasts_s, scopes=list(consent.scopes)
            )
        except (ValueError, KeyError):
            return self._refuse("access_denied", f"{user.name} has lost rights meanwhile: run `hai login` again")
        self.log.info("hai login of %s on %s, from %s", user.name, login.host, login.address)
        return self._answer(
            {
                "access_token": token,
                "token_type": "Bearer",
                "expires_in": lasts_s,
                "scope": " ".join(consent.scopes),
                "user": user.name,
                "expires_at": ends_at.isoformat(timespec="seconds"),
            }
        )


class OwnToken(APIHandler):
    """What a token says of itself, and its end. Who has a token may revoke it, whatever its rights."""

    def check_xsrf_cookie(self) -> None:
        """Skip the check: only the token in the request counts, never a cookie."""

    async def get(self) -> None:
        """Say whose the token is, and until when."""
        token = self._token()
        found = {"user": token.user.name, "expires_at": token.expires_at and isoformat(token.expires_at)}
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(found))

    async def delete(self) -> None:
        """Revoke the token."""
        token = self._token()
        self.log.info("A token of %s is revoked by itself", token.user.name)
        self.db.delete(token)
        self.db.commit()
        self.set_status(204)

    def _token(self) -> Any:
        token = self.get_token()
        if token is None or token.user is None:
            raise HTTPError(403, "send `Authorization: Bearer <token>` with a user's token")
        return token


class DevicePage(BaseHandler):
    """The page for the person. The code is typed and never part of an address: a link that is sent cannot bring one."""

    def initialize(self, grants: DeviceGrants, guessing: Guessing) -> None:
        """Store the arguments of the routing table; tornado calls this."""
        self._grants, self._guessing = grants, guessing

    @authenticated
    async def get(self) -> None:
        """Ask for the code."""
        await self._show("ask")

    @authenticated
    async def post(self) -> None:
        """Show who asks for what, or take the answer."""
        user, address = self.current_user, address_of(self.request)
        if wait_s := self._guessing.wait_s(user.name, address):
            raise too_many(self._say["slow"].format(n=wait_s), wait_s)
        typed, answer = self.get_body_argument("user_code", ""), self.get_body_argument("answer", "")
        login = self._grants.find(typed)
        if login is None:
            self._guessing.failed(user.name, address)
            self.set_status(404)
            return await self._show("ask", problem="unknown")
        scopes = self._scopes(login)
        if not {READ, ACCESS} <= set(scopes):
            self.set_status(403)
            return await self._show("end", outcome="nothing")
        if answer not in ("yes", "no"):
            return await self._show("decide", login=login, scopes=[scope for scope in scopes if scope in self._say])
        self._grants.decide(typed, Consent(user.orm_user.id, user.name, scopes) if answer == "yes" else None)
        self.log.info("%s says %s to hai login on %s, from %s", user.name, answer, login.host, login.address)
        return await self._show("end", outcome="given" if answer == "yes" else "refused")

    @property
    def _say(self) -> Any:
        return texts_for(self.request.headers.get("Accept-Language", ""))

    def _scopes(self, login: Login) -> tuple[str, ...]:
        """Return what of the wanted rights this user holds, for all users or for a service."""
        held = self.expanded_scopes
        return tuple(one for one in LOGIN_RIGHTS[login.rights] if one in held or one.partition("!")[0] in held)

    async def _show(self, step: str, **shown: Any) -> None:
        self.set_header("Cache-Control", "no-store")
        self.set_header("Vary", "Accept-Language")
        self.finish(await self.render_template("device.html", step=step, say=self._say, days=DAYS, **shown))
