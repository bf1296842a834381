"""Asking the scheduler service for a user's folders and environments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hai_spawner.containers.container_config import ContainerConfigError, environment_of, places_of, read_places

TOKEN = "spawner-token-51ab"
HOME = {
    "rule": "home",
    "kind": "host_path",
    "source": "/data/ann",
    "sub_path": "",
    "mount_path": "/home/ann",
    "read_only": False,
}
SETS = {"rule": "sets", "kind": "pvc", "source": "sets", "sub_path": "ml", "mount_path": "/sets", "read_only": True}
TORCH = {"name": "torch", "description": "", "image": None, "python": None, "variables": {"A": "b"}, "default": True}
ANSWER: dict[str, Any] = {
    "user": "ann",
    "groups": ["a", "b"],
    "node_group": "jupyter",
    "mounts": [HOME, SETS],
    "left_out": [],
    "environments": [TORCH],
    "warnings": ["HAI has never seen a user 'ann'"],
}


@pytest.fixture
def token_file(tmp_path: Path) -> str:
    (tmp_path / "token").write_text(TOKEN + "\n")
    return str(tmp_path / "token")


async def asked(token_file: str, status: int, body: str) -> tuple[Any, list[web.Request]]:
    """Ask a service that answers so."""
    seen: list[web.Request] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request)
        return web.Response(status=status, text=body, headers={"Location": "/elsewhere"})

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        try:
            found = await places_of(str(server.make_url("/api/v1/")), token_file, user="a/n?n", groups={"b", "a"})
        except ContainerConfigError as error:
            return error, seen
    return found, seen


async def test_it_asks_with_the_spawners_token_for_the_user_and_their_groups(token_file: str) -> None:
    found, (request,) = await asked(token_file, 200, json.dumps(ANSWER))
    assert request.path == "/api/v1/container-config"
    assert dict(request.query) == {"user": "a/n?n", "groups": '["a", "b"]', "node_group": "jupyter"}
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert [mount.mount_path for mount in found.mounts] == ["/home/ann", "/sets"]
    assert environment_of(found, None).name == "torch"
    assert environment_of(found, "jax") is None
    assert found.warnings == ("HAI has never seen a user 'ann'",)


@pytest.mark.parametrize(
    ("status", "body", "words", "wrong"),
    [
        (503, '{"detail": "No database"}', "answers 503: No database", False),
        (400, '{"detail": "user: no / in it"}', "answers 400: user: no / in it", True),
        (302, "", "answers 302", False),
        (200, "<html>", "does not answer (JSONDecodeError)", False),
        (200, "[]", "something else than mounts and environments", False),
        (
            200,
            json.dumps({**ANSWER, "mounts": [{**HOME, "kind": "nfs"}]}),
            "something else than mounts and environments (nfs",
            False,
        ),
    ],
    ids=["down", "bad user", "redirect", "page", "list", "unknown kind"],
)
async def test_what_goes_wrong_is_said_without_the_token(
    token_file: str, status: int, body: str, words: str, wrong: bool
) -> None:
    error, seen = await asked(token_file, status, body)
    assert words in str(error)
    assert error.wrong is wrong
    assert TOKEN not in str(error)
    assert len(seen) == 1


async def test_a_service_that_is_not_there_and_a_token_that_is_not_are_said(token_file: str, tmp_path: Path) -> None:
    for file in (token_file, str(tmp_path / "none")):
        with pytest.raises(ContainerConfigError, match="does not answer"):
            await places_of("http://127.0.0.1:9", file, user="ann", groups=())


@pytest.mark.parametrize("path", ["relative", "/a/../b"])
def test_a_folder_that_leaves_its_place_is_not_taken(path: str) -> None:
    mounts = [{**HOME, "mount_path": path}]
    with pytest.raises(ContainerConfigError, match="something else than mounts and environments"):
        read_places({**ANSWER, "mounts": mounts})
