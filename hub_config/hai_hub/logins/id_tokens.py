"""Check the ID tokens of a provider of OpenID Connect by the keys that it publishes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import jwt

#: Signatures that only the provider can make. `none` and those by a shared secret are not among them.
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
#: Seconds by which the provider's clock may be wrong, and seconds between two questions for keys.
_LEEWAY_S: Final = 60
_ASK_EVERY_S: Final = 60.0

#: Returns the provider's key set.
Keys = Callable[[], Awaitable[Any]]


class WrongToken(Exception):
    """An ID token cannot be believed; the text says why, and shows nothing of the token."""


class IdTokens:
    """Checks ID tokens. Keys are kept, and asked for again when a token is signed by one that is not among them."""

    def __init__(self, keys: Keys, now: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._now = keys, now
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._asked_at = -_ASK_EVERY_S

    async def claims(self, token: str, *, issuer: str, audience: str) -> dict[str, Any]:
        """Return the claims of a token. Raises WrongToken, and what the question for keys raises."""
        try:
            head = jwt.get_unverified_header(token)
            key = await self._key(head.get("kid"))
            if head.get("alg") not in ALGORITHMS:
                raise WrongToken(f"it is signed by {str(head.get('alg'))[:20]!a}, which anybody could do")
            return dict(
                jwt.decode(
                    token,
                    key,
                    algorithms=[str(head["alg"])],
                    audience=audience,
                    issuer=issuer,
                    leeway=_LEEWAY_S,
                    options={"require": ["exp", "iat", "sub"]},
                )
            )
        except jwt.PyJWTError as error:
            # Its text may hold claims; its class says enough.
            raise WrongToken(_WORDS.get(type(error).__name__, type(error).__name__)) from None

    async def _key(self, name: str | None) -> jwt.PyJWK:
        if name not in self._keys and self._now() - self._asked_at >= _ASK_EVERY_S:
            self._asked_at = self._now()
            told = await self._ask()
            try:
                self._keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(told).keys}
            except (jwt.PyJWTError, AttributeError, TypeError) as error:
                raise WrongToken(f"the provider's keys cannot be read ({type(error).__name__})") from None
        if name is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if name not in self._keys:
            raise WrongToken("it is signed by a key that the provider does not publish")
        return self._keys[name]


_WORDS: Final = {
    "ExpiredSignatureError": "it has expired: is the clock of the Hub or of the provider wrong?",
    "ImmatureSignatureError": "it is of the future: is the clock of the Hub or of the provider wrong?",
    "InvalidAudienceError": "it is for another client",
    "InvalidIssuerError": "it is of another issuer",
    "InvalidSignatureError": "its signature is wrong",
}
