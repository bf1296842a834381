"""HTTPS of the proxy, and a certificate that is renewed while it serves."""

from __future__ import annotations

import asyncio
import logging
import shutil
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from hai_client.certificates import CertificateError
from hai_spawner.proxy.embedded import EmbeddedProxy
from hai_spawner.proxy.renewal import Renewal
from kit.certificates import certificate
from kit.ports import free_port
from unit.spawner.proxy.proxy_kit import serve


class Site:
    """A proxy with a plain address and one with HTTPS, and a server that says what it is told of the request."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plain, self.port = free_port(), free_port()

    async def start(self) -> None:
        async def told(request: web.Request) -> web.Response:
            return web.Response(text=request.headers["X-Forwarded-Proto"])

        self.renew("first")
        self.runner, url = await serve(told=told)
        self.proxy = EmbeddedProxy(
            public_url=f"http://127.0.0.1:{self.plain}",
            hub=None,
            host_routing=False,
            https_ip="127.0.0.1",
            https_port=self.port,
            https_certificate=str(self.folder / "hub.crt"),
            https_key=str(self.folder / "hub.key"),
        )
        await self.proxy.start()
        await self.proxy.add_route("/told/", url, {})

    def renew(self, name: str) -> None:
        certificate(self.folder, name, "127.0.0.1")
        for kind in ("crt", "key"):
            (self.folder / f"{name}.{kind}").replace(self.folder / f"hub.{kind}")

    async def shown(self) -> str:
        """The name in the certificate that a new connection is shown."""
        context = ssl.create_default_context(cafile=self.folder / "hub.crt")
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        _, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context)
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return next(name for name in ("first", "second") if name.encode() in der)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    made = Site(tmp_path)
    await made.start()
    try:
        yield made
    finally:
        await made.proxy.stop()
        await made.runner.cleanup()


async def test_servers_behind_are_told_which_requests_came_safely(site: Site) -> None:
    trust = ssl.create_default_context(cafile=site.folder / "hub.crt")
    async with aiohttp.ClientSession() as client:
        async with client.get(f"https://127.0.0.1:{site.port}/told/", ssl=trust) as answer:
            assert (answer.status, await answer.text()) == (200, "https")
        async with client.get(f"http://127.0.0.1:{site.plain}/told/") as answer:
            assert (answer.status, await answer.text()) == (200, "http")
        with pytest.raises(aiohttp.ClientError):
            await client.get(f"http://127.0.0.1:{site.port}/told/")


async def test_new_connections_get_the_new_certificate_and_open_ones_go_on(site: Site) -> None:
    trust = ssl.create_default_context(cafile=site.folder / "hub.crt")
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as client:
        url = f"https://127.0.0.1:{site.port}/told/"
        assert await (await client.get(url, ssl=trust)).text() == "https"
        site.renew("second")
        assert await site.shown() == "first", "nobody has looked yet"
        site.proxy._renewals[0].look()
        assert await site.shown() == "second"
        # Over the connection that is there: a new one would not trust the new certificate.
        assert await (await client.get(url, ssl=trust)).text() == "https"


async def test_half_a_renewal_is_waited_for(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    certificate(site.folder, "second", "127.0.0.1")
    shutil.move(site.folder / "second.crt", site.folder / "hub.crt")
    (look,) = site.proxy._renewals
    look.look()
    assert await site.shown() == "first"
    shutil.move(site.folder / "second.key", site.folder / "hub.key")
    look.look()
    assert await site.shown() == "second"


def test_files_are_read_again_only_when_they_have_changed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    certificate(tmp_path, "hub", "a")
    log = logging.getLogger("test")
    caplog.set_level(logging.INFO, "test")
    renewal = Renewal(tmp_path / "hub.crt", tmp_path / "hub.key", log)
    uses: list[ssl.SSLContext] = []
    renewal.renewed.append(uses.append)
    renewal.look()
    assert uses == []
    (tmp_path / "hub.key").unlink()
    for _ in range(3):
        renewal.look()
    assert [record.levelname for record in caplog.records] == ["WARNING"], "once for each change"
    certificate(tmp_path, "hub", "b")
    renewal.look()
    assert uses == [renewal.context]


def test_files_that_do_not_serve_end_the_start(tmp_path: Path) -> None:
    with pytest.raises(CertificateError):
        Renewal(tmp_path / "none", tmp_path / "none", logging.getLogger("test"))
