"""Requests to providers of logins by OAuth: each failure is a sentence, and no body of an answer is ever logged.

oauthenticator writes the provider's answers into its log and its errors; they may hold tokens and the client's secret.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from oauthenticator.oauth2 import OAuthenticator
from tornado.httpclient import HTTPRequest
from tornado.web import HTTPError
from traitlets import Unicode

from hai_hub.logins.in_step import ACCOUNT, InStep
from hai_hub.logins.provider_http import Unreached, send
from hai_hub.logins.questions import Away, Ended, misshapen

#: Seconds for a connection, and for an answer.
_CONNECT_S: Final = 5.0
_ANSWER_S: Final = 10.0
#: Errors of RFC 6749 have such names; what else stands there is not shown.
_ERROR: Final = re.compile(r"[a-z_]{1,40}")
#: They say that the client is unknown, or that its secret is wrong.
_CLIENT: Final = ("invalid_client", "unauthorized_client", "incorrect_client_credentials")


class ProviderRefused(Exception):
    """The provider answers with an error."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(f"status {status} {error}".strip())
        self.status, self.error = status, error


class CarefulOAuth(InStep, OAuthenticator):
    """An authenticator of OAuth whose requests end in time, go nowhere else, and fail with sentences."""

    address = Unicode(help="The provider's address as the admin has written it.")
    address_field: str = "logins.oidc.issuer"

    async def fetch(self, req: HTTPRequest, *_: Any, parse_json: bool = True, **__: Any) -> Any:
        """Return what the provider answers, parsed unless `parse_json` is false. Raises ProviderRefused or Away."""
        place = placed(self.address_field, req.url)
        try:
            answer = await send(req, connect_s=_CONNECT_S, answer_s=_ANSWER_S)
        except Unreached as error:
            raise Away(_no_answer(place, error)) from None
        if answer.code < 200 or 300 <= answer.code < 400:
            raise Away(f"{place} leads elsewhere (status {answer.code}): write the address that it leads to.")
        parsed = _json_of(answer.body)
        if answer.code >= 500 or answer.code == 429:
            raise Away(f"{place} answers with status {answer.code}: look at the provider's own log.")
        # GitHub answers errors with status 200.
        named = parsed.get("error") if isinstance(parsed, dict) else None
        if answer.code >= 400 or isinstance(named, str):
            raise ProviderRefused(answer.code, named if isinstance(named, str) and _ERROR.fullmatch(named) else "")
        if not parse_json:
            return answer
        if not isinstance(parsed, dict | list):
            raise Away(f"{place} does not answer with JSON: check the address.")
        return parsed

    async def get_token_info(self, _handler: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Return the tokens for a code or a refresh token. Raises Ended or Away."""
        place = placed(self.address_field, self.token_url)
        try:
            tokens = await self.httpfetch(
                self.token_url,
                method="POST",
                headers=self.build_token_info_request_headers(),
                body=urlencode({key: value for key, value in params.items() if value is not None}).encode(),
                validate_cert=self.validate_server_cert,
            )
        except ProviderRefused as refused:
            if refused.error in _CLIENT or (refused.status == 401 and not refused.error):
                raise Away(
                    f"{place} refuses the client {self.client_id!r} ({refused}): check"
                    f" {self.address_field.rpartition('.')[0]}.clientId and the key client-secret of"
                    " logins.existingSecret."
                ) from None
            raise Ended(str(refused)) from None
        if not isinstance(tokens, dict) or not isinstance(tokens.get("access_token"), str):
            raise Away(f"{place} answers without an access token: is it the token endpoint?")
        tokens.setdefault("token_type", "Bearer")
        return tokens

    async def prepare(self) -> None:
        """Find out the provider's addresses, where they are not settings. Raises Away."""

    async def authenticate(self, handler: Any, data: Any = None, **given: Any) -> dict[str, Any] | None:
        """Return the model of who signs in. Raises HTTPError with a sentence."""
        await prepared(self)
        try:
            model: dict[str, Any] = await super().authenticate(handler, data, **given)
        except Away as away:
            raise _nobody(self.log, away) from None
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise _nobody(self.log, misshapen(error)) from None
        except (Ended, ProviderRefused) as error:
            self.log.warning("A login was refused by %s: %s", self.address, error)
            raise HTTPError(403, f"{self.address} refuses this login ({error}): sign in again.") from None
        await self.check_account(handler, model["name"], model["auth_state"][ACCOUNT])
        return model

    async def renewed(self, tokens: dict[str, Any]) -> dict[str, Any]:
        """Return new tokens for a refresh token. Raises Ended or Away."""
        refresh = tokens.get("refresh_token")
        if not refresh:
            raise Ended("there is no refresh token")
        new = await self.get_token_info(None, self.build_refresh_token_request_params(refresh))
        new.setdefault("refresh_token", refresh)
        return new


async def prepared(authenticator: CarefulOAuth) -> None:
    """Find out the provider's addresses for a login. Raises HTTPError (503)."""
    try:
        await authenticator.prepare()
    except Away as away:
        raise _nobody(authenticator.log, away) from None


def _nobody(log: logging.Logger, away: Away) -> HTTPError:
    log.error("%s", away)
    return HTTPError(503, f"{away} Nobody can sign in until then.")


def placed(field: str, url: str) -> str:
    """Return the beginning of a sentence about an address: where it was written, and which one, without parameters."""
    parts = urlsplit(url)
    return f"{field}: {parts.scheme}://{parts.netloc}{parts.path}"


def _no_answer(place: str, error: Unreached) -> str:
    if error.untrusted:
        return f"{place} does not answer ({error}): give the Hub the certificate of your authority (docs/outbound.md)."
    return f"{place} does not answer ({error}): check the address, outbound, hub.networkPolicy and the provider."


def _json_of(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
