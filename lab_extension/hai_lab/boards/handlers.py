"""The routes of TensorBoard: what a task has for it, start it, and all that its page asks for."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import sys
from typing import Any, Final

import tornado.web

from hai_lab.boards.folders import folder_of, has_content, nothing_in
from hai_lab.boards.processes import Board, Boards
from hai_lab.handler import HaiHandler
from hai_lab.problem import Problem, invalid, unavailable

SETTING: Final = "hai_lab_boards"
#: The packages that must be there, by the names that are imported.
_NEEDED: Final = {"tensorboard": "tensorboard", "jupyter_server_proxy": "jupyter-server-proxy"}
_GONE: Final = "This TensorBoard has ended: open it again from the view of the task."


def missing() -> list[str]:
    """Return the packages that are not installed in the environment of this server."""
    return [package for module, package in _NEEDED.items() if importlib.util.find_spec(module) is None]


def _advice(packages: list[str]) -> str:
    return (
        f"{' and '.join(packages)} {'is' if len(packages) == 1 else 'are'} not installed where this JupyterLab runs. "
        f"Ask an administrator for: {sys.executable} -m pip install {' '.join(packages)}; then start your server again."
    )


class BoardHandler(HaiHandler):
    """`hai-lab/tensorboard`: whether a task has something for TensorBoard; `POST` starts it."""

    @tornado.web.authenticated
    async def get(self) -> None:
        """Answer with the folder of the task, whether something is in it, and what is missing here."""
        try:
            folder = await folder_of(self.settings["hai_lab_platform"], _task(self.get_argument("task", "")))
            content = await asyncio.to_thread(has_content, folder)
        except Problem as problem:
            self.refuse(problem)
            return
        packages = missing()
        advice = _advice(packages) if packages else None
        self.finish(json.dumps({"folder": str(folder), "content": content, "advice": advice}))

    @tornado.web.authenticated
    async def post(self) -> None:
        """Serve the folder of a task, and answer with the path of the page below this server's address."""
        try:
            body = self.get_json_body()
            task = _task(str(body.get("task", "")) if isinstance(body, dict) else "")
            if packages := missing():
                raise unavailable(_advice(packages))
            folder = await folder_of(self.settings["hai_lab_platform"], task)
            if not await asyncio.to_thread(has_content, folder):
                raise nothing_in(folder)
            boards: Boards = self.settings[SETTING]
            key = await boards.open(folder)
        except Problem as problem:
            self.refuse(problem)
            return
        self.finish(json.dumps({"path": f"tensorboard/{key}/"}))


class _NoPageHandler(HaiHandler):
    """Stands in for the page where jupyter-server-proxy is missing."""

    @tornado.web.authenticated
    def get(self, _key: str, _path: str) -> None:
        """Say what is missing."""
        self.refuse(unavailable(_advice(missing() or ["jupyter-server-proxy"])))


def _page_handler() -> type[tornado.web.RequestHandler]:
    """Return the handler of what the page asks for: jupyter-server-proxy's, to the socket of the board."""
    try:
        from jupyter_server_proxy.handlers import LocalProxyHandler
    except ImportError:
        return _NoPageHandler

    class BoardPageHandler(LocalProxyHandler):  # type: ignore[misc, unused-ignore]
        """`hai-lab/tensorboard/KEY/...`: the page of a board. Its handler checks the login of each request."""

        def __init__(self, *args: Any, **options: Any) -> None:
            # A page that reads its numbers again and again must not keep an idle server alive.
            super().__init__(*args, update_last_activity=False, **options)

        # Each verb names the check of the login, because Jupyter Server looks for it; TensorBoard needs two of them.
        @tornado.web.authenticated
        async def get(self, key: str, proxied_path: str) -> None:
            """Pass a request on that reads."""
            await self.proxy(key, proxied_path)

        @tornado.web.authenticated
        async def post(self, key: str, proxied_path: str) -> None:
            """Pass a request on that reads much."""
            await self.proxy(key, proxied_path)

        @tornado.web.authenticated
        async def head(self, key: str, proxied_path: str) -> None:
            """Pass a request on that reads no body."""
            await self.proxy(key, proxied_path)

        @tornado.web.authenticated
        def put(self, _key: str, _proxied_path: str) -> None:
            """Refuse to change anything."""
            raise tornado.web.HTTPError(405)

        delete = patch = options = put

        def proxy(self, key: str, proxied_path: str) -> Any:
            """Pass a request on to the board."""
            boards: Boards = self.settings[SETTING]
            board: Board | None = boards.get(key)
            if board is None:
                raise tornado.web.HTTPError(404, reason=_GONE)
            self.unix_socket = str(board.socket)
            self.proxy_base = f"hai-lab/tensorboard/{key}"
            return super().proxy(0, proxied_path)

        def proxy_request_headers(self) -> dict[str, str]:
            """Return the headers that the board gets: no cookie and no token of this server."""
            secret = ("cookie", "authorization", "x-xsrftoken")
            headers: dict[str, str] = super().proxy_request_headers()
            return {name: value for name, value in headers.items() if name.lower() not in secret}

    return BoardPageHandler


def _task(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise invalid(f"task is {text[:40]!r}; give the number of a task, such as 41.")
    return int(text)


def routes(base_url: str) -> list[tuple[str, Any]]:
    """Return the routes below a base URL that ends in a slash."""
    base = re.escape(base_url)
    return [
        (f"{base}hai-lab/tensorboard", BoardHandler),
        (f"{base}hai-lab/tensorboard/([0-9a-f]{{16}})(/.*)", _page_handler()),
    ]
