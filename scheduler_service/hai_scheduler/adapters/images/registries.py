"""The port `Images` over the HTTP of registries: the OCI Distribution Specification 1.1, and Docker's tokens.

Only admins name images, so only admins name the hosts that are asked. What a registry answers is still not trusted:
times and lengths are bounded, no redirect is followed, and a token is fetched only by HTTPS or from the same host.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import aiohttp

from hai_scheduler.adapters.images.names import ImageName, basic_for, parse
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.images import NoDigest

#: How long an answer is used again: a burst of submissions is one question.
_FRESH: Final = timedelta(seconds=30)
#: The same of a registry that did not answer: the next submissions need not wait for it.
_SILENT: Final = timedelta(minutes=2)
_REMEMBERED: Final = 1000
#: The longest manifest, as the specification advises, and the longest answer with a token, bytes.
_MANIFEST_BYTES: Final = 4 * 1024 * 1024
_TOKEN_BYTES: Final = 64 * 1024
_ACCEPT: Final = ", ".join(
    [
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    ]
)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
#: A name is looked for where a word begins: elsewhere each letter of a long word would begin a search to its end.
_CHALLENGE: Final = re.compile(r'\b([a-z]+)="([^"]*)"')
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]{1,16384}")


@dataclass(frozen=True, slots=True)
class _Known:
    until: datetime
    #: The image with its digest, or why there is none.
    pinned: str | None
    why: str = ""


@dataclass(slots=True, kw_only=True)
class Registries:
    """See `ports.images.Images`.

    Args:
        clock: The time.
        patience_s: How long all requests for an image may take together, seconds.
        insecure: Hosts that are asked by plain HTTP. No password is sent to them.
        auth_file: The file of a pull secret; None: all registries are asked without a name.
    """

    clock: Clock
    patience_s: float = 3.0
    insecure: frozenset[str] = frozenset()
    auth_file: Path | None = None
    _known: dict[str, _Known] = field(default_factory=dict)
    _asked: dict[str, asyncio.Task[_Known]] = field(default_factory=dict)

    async def pinned(self, image: str) -> str:
        """See `Images.pinned`."""
        if "@" in image:
            return image
        name = parse(image)
        found = self._fresh(image) or self._fresh(name.host)
        if found is None:
            asked = self._asked.get(image)
            if asked is None:
                asked = self._asked[image] = asyncio.create_task(self._ask(image, name), name=f"digest of {image}")
                asked.add_done_callback(lambda _: self._asked.pop(image, None))
            # Others wait for the same answer: one that goes away does not end it.
            found = await asyncio.shield(asked)
        if found.pinned is None:
            raise NoDigest(found.why)
        return found.pinned

    def _fresh(self, key: str) -> _Known | None:
        found = self._known.get(key)
        return found if found is not None and self.clock.now() < found.until else None

    async def _ask(self, image: str, name: ImageName) -> _Known:
        key, keep = image, _FRESH
        pinned, why = None, ""
        try:
            async with asyncio.timeout(self.patience_s), aiohttp.ClientSession(trust_env=True) as session:
                pinned = f"{image}@{await self._digest(session, name)}"
        except NoDigest as error:
            why = str(error)
        except TimeoutError:
            key, keep, why = name.host, _SILENT, f"{name.host} did not answer within {self.patience_s:g} s"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # Their texts may repeat an address or a header.
            key, keep, why = name.host, _SILENT, f"{name.host} cannot be asked ({type(error).__name__})"
        found = _Known(self.clock.now() + keep, pinned, why)
        while len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = found
        return found

    async def _digest(self, session: aiohttp.ClientSession, name: ImageName) -> str:
        scheme = "http" if name.host in self.insecure else "https"
        url = f"{scheme}://{name.host}/v2/{name.repository}/manifests/{quote(name.tag)}"
        headers = {"Accept": _ACCEPT}
        async with session.head(url, headers=headers, allow_redirects=False) as answer:
            status, found = answer.status, answer.headers.get("Docker-Content-Digest")
            challenge = answer.headers.get("WWW-Authenticate", "")
        if status == 401:
            headers["Authorization"] = await self._authorization(session, name, challenge)
            async with session.head(url, headers=headers, allow_redirects=False) as answer:
                status, found = answer.status, answer.headers.get("Docker-Content-Digest")
        _check(status, name)
        if found is not None and _DIGEST.fullmatch(found):
            return found
        # The header is optional: then the digest is that of the manifest itself.
        async with session.get(url, headers=headers, allow_redirects=False) as answer:
            _check(answer.status, name)
            return f"sha256:{hashlib.sha256(await _bounded(answer, _MANIFEST_BYTES, name)).hexdigest()}"

    async def _authorization(self, session: aiohttp.ClientSession, name: ImageName, challenge: str) -> str:
        """Return the header for the second request, after the registry has said how it wants to be asked."""
        basic = None if name.host in self.insecure else basic_for(self.auth_file, name.keys)
        kind, _, rest = challenge.partition(" ")
        if kind.lower() == "basic" and basic is not None:
            return basic
        said = dict(_CHALLENGE.findall(rest))
        realm = said.get("realm", "")
        if kind.lower() != "bearer" or not self._may_be_asked(realm, name):
            raise NoDigest(f"{name.host} asks for a name and a password{_how(self.auth_file)}")
        query = {"scope": f"repository:{name.repository}:pull"}
        if "service" in said:
            query["service"] = said["service"]
        more: Mapping[str, str] = {} if basic is None else {"Authorization": basic}
        async with session.get(realm, params=query, headers=more, allow_redirects=False) as answer:
            if answer.status != 200:
                raise NoDigest(f"{name.host} gives no token for {name.repository}{_how(self.auth_file)}")
            data: Any = json.loads(await _bounded(answer, _TOKEN_BYTES, name))
        token = (data.get("token") or data.get("access_token")) if isinstance(data, dict) else None
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise NoDigest(f"{name.host} gives no usable token")
        return f"Bearer {token}"

    def _may_be_asked(self, realm: str, name: ImageName) -> bool:
        """Return whether a token may be fetched there: by HTTPS, or from a registry that is asked by HTTP itself."""
        parts = urlsplit(realm)
        if parts.username is not None or parts.password is not None or not parts.hostname:
            return False
        return parts.scheme == "https" or (
            parts.scheme == "http" and name.host in self.insecure and parts.netloc == name.host
        )


def _check(status: int, name: ImageName) -> None:
    if status == 200:
        return
    image = f"{name.repository}:{name.tag}"
    if status in (401, 403):
        raise NoDigest(f"{name.host} does not let the service see {image}")
    if status == 404:
        raise NoDigest(f"{name.host} has no {image}")
    raise NoDigest(f"{name.host} answers with status {status}")


def _how(file: Path | None) -> str:
    return "; KubernetesSettings.registry_auth_file can name the file of a pull secret" if file is None else ""


async def _bounded(answer: aiohttp.ClientResponse, most: int, name: ImageName) -> bytes:
    """Return a body of at most that many bytes. Raises NoDigest."""
    data = b""
    async for piece in answer.content.iter_chunked(64 * 1024):
        data += piece
        if len(data) > most:
            raise NoDigest(f"{name.host} answers with more than {most} bytes")
    return data
