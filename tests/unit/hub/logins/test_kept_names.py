"""Names that are kept: what is archived when, and what is refused while the service does not answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from tornado.web import HTTPError

from hai_hub.logins.archived_users import ArchivedUsers
from hai_hub.logins.kept_names import KeptNames, archiving
from kit.ports import free_port


class Service:
    """What the scheduler service would do."""

    def __init__(self) -> None:
        self.archived: dict[str, str] = {}
        self.trouble: Exception | None = None
        self.refused: set[str] = set()

    async def archive(self, token: str, name: str, note: str) -> None:
        assert token == "t"
        if self.trouble is not None:
            raise self.trouble
        if name in self.refused:
            raise ValueError("status 409")
        self.archived[name] = note

    async def ask(self, token: str) -> frozenset[str]:
        return frozenset(self.archived)


def handler(*known: str) -> Any:
    """A handler of the Hub, with its users."""
    return SimpleNamespace(
        settings={"services": {"hai": SimpleNamespace(api_token="t")}},
        current_user=SimpleNamespace(name="root"),
        authenticator=SimpleNamespace(normalize_username=lambda name: name.lower()),
        find_user=lambda name: name if name in known else None,
    )


def user(name: str, *, active: bool = True) -> Any:
    return SimpleNamespace(name=name, last_activity="2026-01-01" if active else None)


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def kept(service: Service) -> KeptNames:
    return KeptNames(ArchivedUsers(service.ask), service.archive)


async def test_a_user_whom_a_request_deletes_is_archived_first_and_the_name_is_taken_at_once(
    kept: KeptNames, service: Service
) -> None:
    await kept.archive_first(handler(), "carl")
    assert service.archived == {"carl": "deleted at the Hub by root"}
    with pytest.raises(HTTPError, match="The name carl is that of an archived user") as refused:
        await kept.check_new(handler(), ["new", "Carl"])
    assert refused.value.status_code == 409
    # Who is archived and still there: JupyterHub says that the user exists.
    await kept.check_new(handler("carl"), ["carl"])


@pytest.mark.parametrize("trouble", [OSError("away"), TimeoutError(), ValueError("status 503")])
async def test_nobody_is_deleted_while_the_service_does_not_answer(
    kept: KeptNames, service: Service, trouble: Exception
) -> None:
    service.trouble = trouble
    with pytest.raises(HTTPError, match=r"carl is not deleted: .* Try again when it does") as refused:
        await kept.archive_first(handler(), "carl")
    assert refused.value.status_code == 503


async def test_whom_the_hub_deletes_by_itself_is_archived_as_soon_as_the_service_answers(
    kept: KeptNames, service: Service
) -> None:
    kept.note_deleted(None, None, user("old"))
    kept.note_deleted(None, None, user("slip", active=False))
    with kept.by_request():
        # Could not be added, or is archived already.
        kept.note_deleted(None, None, user("new"))
    service.trouble = OSError("starting")
    await kept.archive_deleted("t")
    service.trouble = None
    for _ in range(2):
        await kept.archive_deleted("t")
        assert service.archived == {"old": "deleted at the Hub by its settings"}


async def test_a_user_whom_the_service_does_not_archive_keeps_no_other_from_it(
    kept: KeptNames, service: Service
) -> None:
    kept.note_deleted(None, None, user("ann"))
    kept.note_deleted(None, None, user("bob"))
    service.refused = {"ann"}
    await kept.archive_deleted("t")
    assert set(service.archived) == {"bob"}
    service.refused = set()
    await kept.archive_deleted("t")
    assert set(service.archived) == {"ann", "bob"}


@pytest.mark.parametrize(
    ("name", "status"),
    [("carl", 403), ("a b@c.example", 404), ("ann%40x", 409), ("domain\\ann", 500), ("训练?x#y&z", 503)],
)
async def test_the_service_is_told_by_its_own_token_and_any_refusal_counts(name: str, status: int) -> None:
    answers, seen = [web.json_response({}), web.json_response({"code": "x"}, status=status)], []

    async def answer(request: web.Request) -> web.Response:
        seen.append((request.match_info["name"], request.headers["Authorization"], await request.json()))
        return answers.pop(0)

    app = web.Application()
    app.router.add_post("/api/users/{name}/archive", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        archive = archiving(f"http://127.0.0.1:{port}/api")
        await archive("secret", name, "why")
        with pytest.raises(ValueError, match=f"status {status}"):
            await archive("secret", name, "why")
        assert seen == [(name, "Bearer secret", {"note": "why"})] * 2
    finally:
        await runner.cleanup()
