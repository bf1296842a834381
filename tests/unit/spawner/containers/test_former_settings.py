"""Settings by their names in earlier releases."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from traitlets import TraitError
from traitlets.config import Config

from hai_spawner.containers.former_settings import FORMER
from hai_spawner.containers.local import HaiLocalSpawner

VALUES = {
    "ask_places": True,
    "places_api_url": "http://s/api",
    "places_token_file": "/t",
    "without_places": "proceed",
}


def config(**sections: dict[str, Any]) -> Config:
    return Config({name: Config(values) for name, values in sections.items()})


@pytest.mark.parametrize("section", ["HaiSpawnerMixin", "HaiLocalSpawner"])
def test_former_names_set_what_is_named_otherwise_now(section: str, caplog: pytest.LogCaptureFixture) -> None:
    written = config(**{section: VALUES})
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            made = HaiLocalSpawner(config=written)
    assert {former: getattr(made, name) for former, name in FORMER.items()} == VALUES
    told = [record.getMessage() for record in caplog.records]
    assert [text for text in told if "is called" in text] == [
        f"{section}.{former} is called {name} now: the next release knows only that" for former, name in FORMER.items()
    ]
    assert not [text for text in told if "not recognized" in text]


def test_what_an_administrator_has_written_wins_over_a_default_of_the_chart() -> None:
    """The chart sets `HaiKubeSpawner.ask_scheduler` beside what `hub.config` has by a former name."""
    made = HaiLocalSpawner(config=config(HaiLocalSpawner={"ask_scheduler": True, "ask_places": False}))
    assert made.ask_scheduler is False


def test_the_section_of_the_class_wins_over_the_common_one_by_either_name() -> None:
    for common, own in (("scheduler_api_url", "places_api_url"), ("places_api_url", "scheduler_api_url")):
        made = HaiLocalSpawner(
            config=config(HaiSpawnerMixin={common: "http://all"}, HaiLocalSpawner={own: "http://own"})
        )
        assert made.scheduler_api_url == "http://own"


def test_a_wrong_value_is_refused_by_the_name_of_now() -> None:
    with pytest.raises(TraitError, match="without_scheduler"):
        HaiLocalSpawner(config=config(HaiLocalSpawner={"without_places": "perhaps"}))


def test_without_former_names_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    made = HaiLocalSpawner(config=config(HaiLocalSpawner={"ask_scheduler": True}))
    assert made.ask_scheduler
    assert not caplog.records
