"""A provider of OpenID Connect: discovery, keys, codes with PKCE, refresh tokens that are good once, a user's page.

It signs in the person that `signs_in` names, without asking. What it knows of people can be changed while it runs, and
it can be told to fail.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from kit.certificates import certificate, serving

#: A secret that must be found nowhere but in requests to the provider.
CLIENT_SECRET = "canary-of-the-client-5f1c"


@cache
def _key(_name: str) -> rsa.RSAPrivateKey:
    """A key for all tests of this process: each takes a moment to make."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class Account:
    """Somebody whom the provider knows."""

    sub: str
    claims: dict[str, Any]


@dataclass
class Provider:
    """What the provider knows, and how it behaves."""

    client_id: str = "hai"
    client_secret: str = CLIENT_SECRET
    accounts: dict[str, Account] = field(default_factory=dict)
    #: Who is signed in at the provider, in the browser that comes next.
    signs_in: str = ""
    #: Where it tells groups.
    groups_in_page: bool = True
    groups_in_token: bool = True
    #: Whether it gives refresh tokens, and takes each once.
    refresh: bool = True
    rotate: bool = True
    algorithm: str = "RS256"
    #: Status of all answers; 0: it answers as it should. -1: it does not answer at all.
    fails: int = 0
    #: Claims that its ID tokens have in place of the true ones.
    lies: dict[str, Any] = field(default_factory=dict)
    issuer: str = ""
    port: int = 0
    asked: list[str] = field(default_factory=list)
    #: What it answers in place of what it should, by path.
    says: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.key, self.other_key = _key("own"), _key("other")
        self.signs_with = self.key
        self._codes: dict[str, tuple[str, str, str]] = {}
        self._access: dict[str, str] = {}
        self._refresh: dict[str, str] = {}
        self._server: HTTPServer | None = None

    def person(self, name: str, *groups: str, **claims: Any) -> None:
        """Add somebody, or change who it is."""
        sub = self.accounts[name].sub if name in self.accounts else secrets.token_hex(8)
        self.accounts[name] = Account(sub, {"preferred_username": name, "groups": list(groups), **claims})

    def end_sessions(self) -> None:
        """Forget all tokens."""
        self._access.clear()
        self._refresh.clear()

    def expire(self) -> None:
        """Let all access tokens end; refresh tokens stay."""
        self._access.clear()

    async def start(self, folder: Path | None = None, host: str = "") -> Provider:
        """Listen on a free port of this machine: by https with a certificate of its own in `folder`, or by http.

        With `host` it is known by that name, at the usual port: only a proxy leads to it.
        """
        routes = [
            ("/.well-known/openid-configuration", _Discovery),
            ("/keys", _Keys),
            ("/authorize", _Authorize),
            ("/token", _Token),
            ("/page", _Page),
        ]
        context = None
        if folder is not None:
            certificate(folder, "provider", host or "127.0.0.1")
            context = serving(folder, "provider")
        sockets = bind_sockets(0, "127.0.0.1")
        self._server = HTTPServer(Application([(*route, {"it": self}) for route in routes]), ssl_options=context)
        self._server.add_sockets(sockets)
        self.port = sockets[0].getsockname()[1]
        self.issuer = f"{'https' if context else 'http'}://{host or f'127.0.0.1:{self.port}'}"
        return self

    async def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.stop()
            await self._server.close_all_connections()

    def public_keys(self) -> dict[str, Any]:
        made = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**made, "kid": "one", "use": "sig", "alg": "RS256"}]}

    def authorized(self, challenge: str, redirect: str) -> str:
        """Return a code for the person who is signed in."""
        code = secrets.token_urlsafe(8)
        self._codes[code] = (self.signs_in, challenge, redirect)
        return code

    def of_code(self, code: str, verifier: str, redirect: str) -> dict[str, Any] | None:
        name, challenge, there = self._codes.pop(code, ("", "", ""))
        digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        return self._tokens(name) if name and (digest, redirect) == (challenge, there) else None

    def of_refresh(self, token: str) -> dict[str, Any] | None:
        name = self._refresh.pop(token, "") if self.rotate else self._refresh.get(token, "")
        return self._tokens(name) if name in self.accounts else None

    def of_access(self, token: str) -> dict[str, Any] | None:
        account = self.accounts.get(self._access.get(token, ""))
        return None if account is None else self._claims(account, groups=self.groups_in_page)

    def _claims(self, account: Account, *, groups: bool) -> dict[str, Any]:
        return {"sub": account.sub} | {key: value for key, value in account.claims.items() if groups or key != "groups"}

    def _tokens(self, name: str) -> dict[str, Any]:
        access, now = secrets.token_urlsafe(8), int(time.time())
        self._access[access] = name
        claims = self._claims(self.accounts[name], groups=self.groups_in_token)
        claims |= {"iss": self.issuer, "aud": self.client_id, "iat": now, "exp": now + 300, **self.lies}
        key: Any = self.client_secret * 2 if self.algorithm.startswith("HS") else self.signs_with
        key = "" if self.algorithm == "none" else key
        made: dict[str, Any] = {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": 300,
            "id_token": jwt.encode(claims, key, algorithm=self.algorithm, headers={"kid": "one"}),
        }
        if self.refresh:
            made["refresh_token"] = secrets.token_urlsafe(8)
            self._refresh[made["refresh_token"]] = name
        return made


class _Answer(RequestHandler):
    def initialize(self, it: Provider) -> None:
        self.it = it

    async def prepare(self) -> None:
        self.it.asked.append(self.request.path)
        if self.request.path in self.it.says:
            self.finish(self.it.says[self.request.path])
        if self.it.fails == -1:
            await asyncio.Event().wait()
        if self.it.fails:
            self.set_status(self.it.fails)
            # Providers echo what they were sent.
            self.finish({"error": "server_error", "sent": self.request.body.decode("utf-8", "replace")})

    def refuse(self, error: str, status: int = 400) -> None:
        self.set_status(status)
        self.finish({"error": error, "sent": self.request.body.decode()})


class _Discovery(_Answer):
    def get(self) -> None:
        places = {f"{name}_endpoint": f"{self.it.issuer}/{name}" for name in ("authorization", "token")}
        places |= {
            "authorization_endpoint": f"{self.it.issuer}/authorize",
            "userinfo_endpoint": f"{self.it.issuer}/page",
        }
        self.write({"issuer": self.it.issuer, "jwks_uri": f"{self.it.issuer}/keys", **places})


class _Keys(_Answer):
    def get(self) -> None:
        self.write(self.it.public_keys())


class _Authorize(_Answer):
    def get(self) -> None:
        assert self.get_argument("client_id") == self.it.client_id
        assert self.get_argument("response_type") == "code"
        redirect = self.get_argument("redirect_uri")
        code = self.it.authorized(self.get_argument("code_challenge"), redirect)
        self.redirect(f"{redirect}?{urlencode({'code': code, 'state': self.get_argument('state')})}")


class _Token(_Answer):
    def post(self) -> None:
        told = (self.get_argument("client_id", ""), self.get_argument("client_secret", ""))
        if told != (self.it.client_id, self.it.client_secret):
            self.refuse("invalid_client", 401)
            return
        if self.get_argument("grant_type") == "refresh_token":
            found = self.it.of_refresh(self.get_argument("refresh_token"))
        else:
            given = [self.get_argument(name) for name in ("code", "code_verifier", "redirect_uri")]
            found = self.it.of_code(*given)
        if found is None:
            self.refuse("invalid_grant")
        else:
            self.write(found)


class _Page(_Answer):
    def get(self) -> None:
        claims = self.it.of_access(self.request.headers["Authorization"].removeprefix("Bearer "))
        if claims is None:
            self.refuse("invalid_token", 401)
        else:
            self.write(claims)
