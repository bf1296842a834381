"""The versions of the platform's parts."""

from __future__ import annotations

import json
import logging
from importlib.metadata import version

import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from hai_scheduler import __version__
from hai_scheduler.app.versions import versions, warn_of_chart


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


@pytest.mark.parametrize("chart", [None, "", __version__, "not-a-version"])
async def test_an_image_of_the_version_of_its_chart_is_not_warned_of(
    caplog: pytest.LogCaptureFixture, chart: str | None
) -> None:
    environ = {} if chart is None else {"HAI_CHART_VERSION": chart}
    warn_of_chart(environ)
    assert caplog.records == []
    assert (await versions(environ)).get("chart") == (chart or None)


def test_an_image_of_another_version_than_its_chart_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_chart({"HAI_CHART_VERSION": "99.1.0"})
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"the image has HAI {__version__}, and the chart is 99.1.0" in record.getMessage()
