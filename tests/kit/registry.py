"""A small registry of images: what the OCI Distribution Specification says of manifests, and Docker's tokens."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

INDEX = "application/vnd.oci.image.index.v1+json"


@dataclass
class Registry:
    """The registry, and how it answers; `host` is its address."""

    host: str = ""
    #: The manifests by `repository:tag`.
    manifests: dict[str, bytes] = field(default_factory=dict)
    #: The name and password, as the header Authorization has them, without which there is no token; empty: all get one.
    basic: str = ""
    #: Whether a token is needed, and what fetches it instead of the registry's own address.
    tokens: bool = False
    realm: str = ""
    #: Whether manifests are sent with their digest in a header.
    says_digest: bool = True
    #: While it is not set, nothing is answered.
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    status: int = 0
    #: Requests: method, path with query, header Authorization.
    seen: list[tuple[str, str, str]] = field(default_factory=list)

    def push(self, name: str, manifest: bytes) -> str:
        """Put a manifest; returns its digest."""
        self.manifests[name] = manifest
        return f"sha256:{hashlib.sha256(manifest).hexdigest()}"

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a request."""
        said = request.headers.get("Authorization", "")
        self.seen.append((request.method, request.path_qs, said))
        await self.answers.wait()
        if self.status:
            return web.Response(status=self.status, headers={"Location": "http://169.254.169.254/"})
        if request.path == "/token":
            if self.basic and said != self.basic:
                return web.Response(status=401)
            return web.json_response({"token": "a.token-of_this=registry"})
        if self.tokens and said != "Bearer a.token-of_this=registry":
            realm = self.realm or f"http://{self.host}/token"
            return web.Response(
                status=401, headers={"WWW-Authenticate": f'Bearer realm="{realm}",service="tests",scope="x"'}
            )
        repository, _, tag = request.path.removeprefix("/v2/").partition("/manifests/")
        found = self.manifests.get(f"{repository}:{tag}")
        if found is None or INDEX not in request.headers.get("Accept", ""):
            return web.Response(status=404)
        digest = f"sha256:{hashlib.sha256(found).hexdigest()}"
        headers = {"Docker-Content-Digest": digest} if self.says_digest else {}
        return web.Response(body=found, content_type=INDEX, headers=headers)


@asynccontextmanager
async def registry() -> AsyncIterator[Registry]:
    """A registry on a port of this machine."""
    made = Registry()
    made.answers.set()
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", made.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.host = f"127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield made
    finally:
        made.answers.set()
        await runner.cleanup()
