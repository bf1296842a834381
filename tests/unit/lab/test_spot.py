"""A spot container's server knows its notice and passes its user's word on to the launcher."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hai_lab.spot import LEAVE_FILE, Spot
from unit.lab.conftest import said

NOTICE = {
    "schema": 1,
    "kind": "suspend",
    "reason": "preempted",
    "message": "a task of higher priority needs its nodes",
    "beneficiary": 7,
    "at": "2026-11-21T12:00:00Z",
    "deadline": "2026-11-21T12:05:00Z",
    "revision": 1,
}


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    folder = tmp_path / "runtime"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(environment: dict[str, str], runtime: Path) -> dict[str, str]:
    return environment | {"HAI_SPOT": "1", "HAI_RUNTIME_DIR": str(runtime), "HAI_TASK_ID": "41"}


async def test_without_a_notice_there_is_nothing_to_count_and_no_way_to_leave(ask, runtime: Path) -> None:
    answer = await ask("GET", "hai-lab/spot")
    assert answer.code == 200
    found = said(answer)
    assert (found["spot"], found["task_id"], found["notice"], found["leaving"]) == (True, 41, None, False)
    assert found["now"].endswith("Z")
    refused = await ask("POST", "hai-lab/spot/leave")
    assert (refused.code, said(refused)["code"]) == (409, "conflict")
    assert not (runtime / LEAVE_FILE).exists()


async def test_a_notice_is_shown_and_the_users_word_reaches_the_launcher(ask, runtime: Path) -> None:
    (runtime / "notice.json").write_text(json.dumps(NOTICE))
    notice = said(await ask("GET", "hai-lab/spot"))["notice"]
    assert notice == {name: NOTICE[name] for name in ("kind", "reason", "message", "at", "deadline")}
    told = await ask("POST", "hai-lab/spot/leave")
    assert (told.code, said(told)["leaving"]) == (200, True)
    assert (runtime / LEAVE_FILE).exists()


async def test_no_user_leaves_for_another(stranger, runtime: Path) -> None:
    (runtime / "notice.json").write_text(json.dumps(NOTICE))
    for verb, path in (("GET", "hai-lab/spot"), ("POST", "hai-lab/spot/leave")):
        assert (await stranger(verb, path)).code == 403
    assert not (runtime / LEAVE_FILE).exists()


async def test_watching_the_countdown_is_no_activity(ask, jp_serverapp) -> None:
    before = jp_serverapp.web_app.last_activity()
    await ask("GET", "hai-lab/spot")
    assert jp_serverapp.web_app.last_activity() == before


@pytest.mark.parametrize(
    "environ",
    [{}, {"HAI_RUNTIME_DIR": "/run", "HAI_TASK_ID": "41"}, {"HAI_SPOT": "1"}],
    ids=["an ordinary server", "a task of another kind", "no folder"],
)
def test_other_servers_are_no_spot_containers(environ: dict[str, str]) -> None:
    spot = Spot.from_environment(environ)
    assert not spot.status()["spot"]
    assert spot.notice() is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"kind": "suspend"}'], ids=["empty", "cut", "list", "short"])
def test_a_notice_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "notice.json").write_text(text)
    assert Spot(tmp_path, 41).notice() is None
