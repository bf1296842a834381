"""The versions of the platform's parts."""

from __future__ import annotations

import json
from importlib.metadata import version

from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from hai_scheduler import __version__
from hai_scheduler.app.versions import versions


class _Hub(RequestHandler):
    answer = json.dumps({"version": "6.1.1"})

    def get(self) -> None:
        self.write(self.answer)


async def test_wheels_are_those_beside_the_service_and_the_hub_is_asked(monkeypatch) -> None:
    sockets, port = bind_unused_port()
    server = HTTPServer(Application([("/hub/api/", _Hub)]))
    server.add_socket(sockets)
    told = {"JUPYTERHUB_API_URL": f"http://127.0.0.1:{port}/hub/api"}
    try:
        found = await versions(told)
        assert (found["service"], found["jupyterhub"]) == (__version__, "6.1.1")
        assert found["client"] == version("hai-client")
        monkeypatch.setattr(_Hub, "answer", "not JSON")
        assert (await versions(told))["jupyterhub"] is None
    finally:
        server.stop()
        await server.close_all_connections()
    assert (await versions(told))["jupyterhub"] is None
    assert (await versions({}))["jupyterhub"] is None
