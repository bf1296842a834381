"""A spawner with spot containers: which part answers the Hub, and what it keeps of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub.spawner import SpawnException

from hai_spawner.containers.local import HaiLocalSpawner
from hai_spawner.containers.menu import Refusal, Why
from hai_spawner.containers.mixin import HaiSpawnerMixin
from hai_spawner.sizes.allocations import Allocations
from hai_spawner.spot.local import HaiSpotLocalSpawner
from hai_spawner.spot.scheduler import SchedulerError
from hai_spawner.spot.server import SpotServer
from hai_spawner.spot.state import SpotRecord
from unit.spawner.spawn_kit import SIZES, a_hub, a_user

#: A task that waits, and one that has its turn.
WAITS = SpotRecord(task=41, asked={})
RUNS = SpotRecord(task=41, asked={}, run="41.1", generation="g")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HaiSpawnerMixin, "allocations", Allocations())


def spawner(root: Path, options: Any = None, *, name: str = "gpu", **traits: Any) -> HaiSpotLocalSpawner:
    user = a_user()
    user.db = SimpleNamespace(commit=lambda: None)
    made = HaiSpotLocalSpawner(home_root=str(root / "home"), sizes=SIZES, user=user, hub=a_hub(), **traits)
    made.orm_spawner = SimpleNamespace(name=name, user_options=options, state={}, server=None)
    made.user_options = {} if options is None else options
    made.api_token = "secret"
    return made


@pytest.fixture
def who(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which part was asked, and for what."""
    asked: list[str] = []

    def note(owner: type, part: str, verb: str, answer: Any) -> None:
        async def noted(*given: Any) -> Any:
            asked.append(" ".join([part, verb, *map(str, given[1:])]))
            return answer

        monkeypatch.setattr(owner, verb, noted)

    for owner, part, url in ((SpotServer, "spot", "http://run"), (HaiLocalSpawner, "behind", ("127.0.0.1", 1))):
        for verb, answer in (("start", url), ("poll", 7), ("stop", None)):
            note(owner, part, verb, answer)

        async def progress(_: Any, part: str = part) -> AsyncIterator[dict[str, Any]]:
            yield {"message": part}

        monkeypatch.setattr(owner, "progress", progress)
    note(SpotServer, "spot", "give_up", None)
    return asked


async def all_of(made: HaiSpotLocalSpawner) -> tuple[Any, Any, list[str]]:
    """Start, poll, stop and follow a server, as the Hub does."""
    await made.decide()
    address, status = await made.start(), await made.poll()
    await made.stop(now=True)
    return address, status, [event["message"] async for event in made.progress()]


async def test_a_spot_container_is_handled_by_its_task_alone(tmp_path: Path, who: list[str]) -> None:
    found = await all_of(spawner(tmp_path, {"spot": True}))
    assert found == ("http://run", 7, ["spot"])
    assert who == ["spot start", "spot poll", "spot stop"]
    assert list(HaiSpawnerMixin.allocations) == [], "it takes no size"


async def test_another_server_is_handled_by_the_class_behind_after_its_task_is_given_up(
    tmp_path: Path, who: list[str]
) -> None:
    found = await all_of(spawner(tmp_path, {"profile": "small"}))
    assert found == (("127.0.0.1", 1), 7, ["behind"])
    assert who == ["spot give_up", "behind start", "behind poll", "behind stop True"]
    assert [grant.size for grant in HaiSpawnerMixin.allocations] == ["small"]


async def test_a_server_whose_task_cannot_be_stopped_does_not_start_beside_it(
    tmp_path: Path, who: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(_: object) -> None:
        raise SchedulerError("it does not answer")

    monkeypatch.setattr(SpotServer, "give_up", deaf)
    made = spawner(tmp_path, {"profile": "small"})
    await made.decide()
    with pytest.raises(SpawnException, match="cannot be stopped: it does not answer") as refused:
        await made.start()
    assert refused.value.status_code == 503
    assert who == []


@pytest.mark.parametrize("off", [None, False], ids=str)
async def test_spot_that_is_switched_off_is_no_unknown_option(tmp_path: Path, off: Any, who: list[str]) -> None:
    made = spawner(tmp_path, {"spot": off, "profile": "small"})
    await made.decide()
    assert made.orm_spawner.user_options == {"profile": "small"}


async def test_a_hub_that_encrypts_its_servers_has_none(tmp_path: Path, who: list[str]) -> None:
    made = spawner(tmp_path, {"spot": True})
    made.internal_ssl = True
    with pytest.raises(Refusal, match="internal_ssl") as refused:
        await made.decide()
    assert refused.value.why is Why.OPTIONS


async def test_a_start_has_as_long_as_a_task_may_wait(tmp_path: Path, who: list[str]) -> None:
    made = spawner(tmp_path, {"spot": True})
    made.spot.start_timeout = 86_400
    await made.decide()
    assert made.start_timeout == 86_400
    small = spawner(tmp_path, {"profile": "small"})
    small.spot.start_timeout = 86_400
    await small.decide()
    assert small.start_timeout < 86_400


# -- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ({"profile": ["small"]}, {"profile": "small"}),
        ({"profile": ["small"], "spot": ["1"]}, {"spot": {}}),
        ({"profile": ["small"], "spot": ["1"], "spot_gpus": ["2"]}, {"spot": {"gpus": 2}}),
    ],
    ids=["a size", "spot", "spot with GPUs"],
)
def test_a_form_for_a_spot_container_has_no_size(tmp_path: Path, form: Any, options: Any) -> None:
    assert spawner(tmp_path).run_options_from_form(form) == options


def test_a_query_is_read_as_the_form_is(tmp_path: Path) -> None:
    assert spawner(tmp_path).options_from_query({"profile": ["small"], "spot": ["1"]}) == {"spot": {}}


def test_a_wrong_form_is_refused_as_the_hub_shows_it(tmp_path: Path) -> None:
    with pytest.raises(SpawnException, match="spot_gpus"):
        spawner(tmp_path).run_options_from_form({"spot": ["1"], "spot_gpus": ["many"]})


async def test_the_page_offers_spot_beside_sizes_and_to_named_servers(tmp_path: Path) -> None:
    assert 'name="spot"' in await spawner(tmp_path).form()
    named, default = (spawner(tmp_path, name=name) for name in ("gpu", ""))
    for made in (named, default):
        made.sizes = {}
    assert 'name="spot"' in await named.form()
    assert await default.form() == "", "nothing is to be chosen"


async def test_the_page_shows_the_last_choice_and_bears_a_wrong_one(tmp_path: Path) -> None:
    def checked(html: str) -> bool:
        return "checked" in html[html.index('name="spot"') :].partition(">")[0]

    assert checked(await spawner(tmp_path, {"spot": {"gpus": 2}}).form())
    assert not checked(await spawner(tmp_path, {"spot": {"gpus": "many"}}).form())
    assert not checked(await spawner(tmp_path, {}).form())


async def test_the_page_names_the_task_that_waits(tmp_path: Path) -> None:
    made = spawner(tmp_path)
    made.load_state({"spot": WAITS.to_state()})
    assert "41" in await made.form()


# -- what the Hub keeps -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kept", "part"), [(RUNS, "spot"), (WAITS, "behind"), (None, "behind")], ids=str)
async def test_after_a_restart_of_the_hub_a_server_with_a_run_is_asked_of_its_task(
    tmp_path: Path, kept: SpotRecord | None, part: str, who: list[str]
) -> None:
    made = spawner(tmp_path)
    made.load_state({} if kept is None else {"spot": kept.to_state()})
    await made.poll()
    assert who == [f"{part} poll"]


def test_the_end_of_a_server_forgets_the_run_and_keeps_the_task(tmp_path: Path) -> None:
    made = spawner(tmp_path)
    assert "spot" not in made.get_state()
    made.load_state({"spot": RUNS.to_state()})
    assert made.get_state()["spot"] == RUNS.to_state()
    made.clear_state()
    assert made.get_state()["spot"] == WAITS.to_state()


async def test_the_url_of_a_spot_container_is_the_one_that_the_hub_has_stored(tmp_path: Path) -> None:
    made = spawner(tmp_path)
    made.load_state({"spot": RUNS.to_state()})
    stored = object()
    made.orm_spawner.server = stored
    made._server = SimpleNamespace(url="http://10.0.0.1:8888/user/ann/gpu/", orm_server=stored)
    assert await made.get_url() == "http://10.0.0.1:8888/user/ann/gpu/"


@pytest.mark.parametrize("answers", [True, False], ids=["the scheduler answers", "it does not"])
async def test_a_server_that_is_removed_from_the_hub_gives_its_task_up_if_that_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    asked: list[str] = []

    async def give_up(_: object) -> None:
        asked.append("give up")
        if not answers:
            raise SchedulerError("it does not answer")

    async def behind(_: object) -> None:
        asked.append("behind")

    monkeypatch.setattr(SpotServer, "give_up", give_up)
    monkeypatch.setattr(HaiLocalSpawner, "delete_forever", behind, raising=False)
    await spawner(tmp_path).delete_forever()
    assert asked == ["give up", "behind"]
