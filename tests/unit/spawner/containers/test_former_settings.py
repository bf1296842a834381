"""Settings by their names in earlier releases."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from traitlets import TraitError
from traitlets.config import Config

from hai_spawner.containers import former_settings
from hai_spawner.containers.former_settings import FORMER
from hai_spawner.containers.local import HaiLocalSpawner

VALUES = {
    "ask_places": True,
    "places_api_url": "http://s/api",
    "places_token_file": "/t",
    "without_places": "proceed",
}


@pytest.fixture(autouse=True)
def no_warning_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(former_settings, "_warned", set())


def config(**sections: dict[str, Any]) -> Config:
    return Config({name: Config(values) for name, values in sections.items()})


@pytest.mark.parametrize("section", ["HaiSpawnerMixin", "HaiLocalSpawner"])
def test_former_names_set_what_is_named_otherwise_now(section: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            made = HaiLocalSpawner(config=config(**{section: VALUES}))
    assert {former: getattr(made, name) for former, name in FORMER.items()} == VALUES
    told = [record.getMessage() for record in caplog.records]
    assert [text for text in told if "is called" in text] == [
        f"HaiLocalSpawner.{former} is called {name} now: the next release knows only that"
        for former, name in FORMER.items()
    ]
    assert not [text for text in told if "not recognized" in text]


def test_the_name_of_now_wins() -> None:
    sections = {
        "HaiSpawnerMixin": {"scheduler_api_url": "http://new"},
        "HaiLocalSpawner": {"places_api_url": "http://old"},
    }
    made = HaiLocalSpawner(config=config(**sections))
    assert made.scheduler_api_url == "http://new"


def test_a_wrong_value_is_refused_by_the_name_of_now() -> None:
    with pytest.raises(TraitError, match="without_scheduler"):
        HaiLocalSpawner(config=config(HaiLocalSpawner={"without_places": "perhaps"}))


def test_without_former_names_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    made = HaiLocalSpawner(config=config(HaiLocalSpawner={"ask_scheduler": True}))
    assert made.ask_scheduler
    assert not caplog.records
