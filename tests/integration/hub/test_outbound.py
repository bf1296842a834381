"""Programs of servers, tasks and builds reach what is outside by the proxy, and trust the authorities of the values."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from hai_client.outbound import AUTHORITIES_FOLDER
from hai_client.rank.starting.environment import RankContext, Run, rank_environment
from hai_hub.cluster.servers import server_traits
from hai_scheduler.adapters.kubernetes.builds import variables_of
from hai_scheduler.adapters.kubernetes.outbound import outbound_variables
from kit.builders import a_launch
from kit.certificates import certificate, serving
from kit.proxy import proxying
from unit.adapters.kubernetes.things import some_settings
from unit.hub.cluster.test_servers import around

HOST = "files.outside.invalid"
#: What the standard library, and uv as haienv calls it, ask by.
FETCH = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=20).read().decode())"
Env = Callable[[str], dict[str, str]]


class Page(BaseHTTPRequestHandler):
    """The same answer to everything."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"a package")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[int]:
    """The port of a server of files whose certificate is of an authority that no system knows."""
    certificate(tmp_path, "outside", HOST)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.socket = serving(tmp_path, "outside").wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def of_server(proxy: str) -> dict[str, str]:
    outbound = {"internet": "proxy", "proxy": {"address": proxy}, "authorities": {"configMap": "ours"}}
    found: dict[str, str] = server_traits(around(outbound=outbound))["KubeSpawner"]["environment"]
    return found


def of_task(proxy: str, *, build: bool = False) -> dict[str, str]:
    settings = some_settings(
        internet="proxy", proxy=proxy, authorities_config_map="ours", haienv_claim="haienv", haienv_root="/envs"
    )
    launch = a_launch()
    # What a user sets beside it, which names nothing of the platform.
    own = variables_of(launch, settings) if build else {"NO_PROXY": "data.example"}
    run = Run(
        run_id="41.2", task_id=41, user="ann", nodes=["n-1"], profile="auto", api_url="http://localhost:8082/api",
        addresses=["10.0.0.1"], master_port=3000,
    )  # fmt: skip
    context = RankContext(rank=0, node="n-1", gpus=0, runtime_dir="/run/r", token_file="/run/t")
    given = {**outbound_variables(settings), **own}
    return rank_environment(given, run, context, home="/tmp", path_first=[], slurm=None)


async def fetched(url: str, env: dict[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FETCH, url, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    return (await process.communicate())[0].decode().strip().splitlines()[-1]


@pytest.mark.parametrize(
    "of",
    [of_server, of_task, lambda proxy: of_task(proxy, build=True)],
    ids=["a server", "a task", "a build"],
)
async def test_it_fetches_by_the_proxy_and_trusts_the_authority(outside: int, tmp_path: Path, of: Env) -> None:
    async with proxying({f"{HOST}:443": outside}) as proxy:
        env = {name: text.replace(AUTHORITIES_FOLDER, str(tmp_path)) for name, text in of(proxy.address).items()}
        env["PATH"] = os.environ["PATH"]
        (tmp_path / "outside.crt").rename(tmp_path / "ca.crt")
        assert await fetched(f"https://{HOST}/x", env) == "a package"
        assert "403" in await fetched("https://elsewhere.invalid/x", env)
        # The platform itself: nobody listens there, and the proxy must not hear of it.
        assert "refused" in await fetched("http://localhost:1/api", env)
        assert proxy.asked == [f"{HOST}:443", "elsewhere.invalid:443"]
        (tmp_path / "ca.crt").unlink()
        assert "certificate" in (await fetched(f"https://{HOST}/x", env)).lower()
