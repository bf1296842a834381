"""A terminal of a user's JupyterLab server, as a browser has it."""

from __future__ import annotations

import json
import re
import ssl
from typing import Final

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from kit.waiting import PATIENCE

#: Escapes by which a shell colours its prompt and names the window.
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07)")


async def typed(server: str, token: str, line: str, trust: ssl.SSLContext | None = None) -> str:
    """Open a new terminal, type a line, and return all that is shown until the line has ended.

    Args:
        server: The server's address, without a slash at its end.
        token: A token that may use the server.
        line: Commands for a shell, on one line.
        trust: Whose certificates are believed where the address has HTTPS.
    """
    headers = {"Authorization": f"token {token}"}
    asked = HTTPRequest(
        f"{server}/api/terminals", "POST", headers, body="{}", request_timeout=PATIENCE, ssl_options=trust
    )
    name = json.loads((await AsyncHTTPClient().fetch(asked)).body)["name"]
    address = server.replace("http", "ws", 1) + f"/terminals/websocket/{name}"
    browser = await websocket_connect(HTTPRequest(address, headers=headers, ssl_options=trust))
    try:
        # Cut in two, so that the echo of what is typed is not taken for its output.
        await browser.write_message(json.dumps(["stdin", f"{line}; echo HAI-'ENDS'\r"]))
        return await _shown(browser, "HAI-ENDS")
    finally:
        browser.close()


async def _shown(browser: WebSocketClientConnection, end: str) -> str:
    shown = ""
    while end not in _ESCAPES.sub("", shown):
        message = await browser.read_message()
        assert message is not None, f"the terminal was closed after: {shown}"
        kind, *said = json.loads(message)
        if kind == "stdout":
            shown += said[0]
    return _ESCAPES.sub("", shown)
