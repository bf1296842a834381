"""`hai_client.mlflow`: which run of MLflow a turn goes on with. MLflow itself is a stand-in here."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from hai_client import job


class Server:
    """What MLflow's client does, as far as it is used: runs with tags, and what was asked."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self.started: list[dict[str, Any]] = []

    def search_runs(self, **asked: Any) -> list[Any]:
        self.asked.append(asked)
        return [SimpleNamespace(info=SimpleNamespace(run_id=name)) for name in self.begun[: asked["max_results"]]]

    def start_run(self, **given: Any) -> object:
        self.started.append(given)
        return given

    ActiveRun = object


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setitem(sys.modules, "mlflow", server)
    monkeypatch.setattr(job, "inside", True)
    monkeypatch.setattr(job, "restarts", 2)
    monkeypatch.setattr(job, "task_id", 41)
    monkeypatch.setenv("HAI_USER", "ann")
    monkeypatch.delenv("MLFLOW_RUN_ID", raising=False)
    monkeypatch.delitem(sys.modules, "hai_client.mlflow", raising=False)
    return server


def start_run(**given: Any) -> Any:
    return importlib.import_module("hai_client.mlflow").start_run(**given)


def test_a_later_turn_goes_on_with_the_first_run_of_the_task(server: Server) -> None:
    server.begun = ["first", "second"]
    start_run(run_name="mine")
    assert server.started == [{"run_id": "first", "run_name": "mine"}]
    (asked,) = server.asked
    assert asked["filter_string"] == "tags.`hai.task` = '41' AND tags.`hai.user` = 'ann'"
    assert (asked["experiment_ids"], asked["order_by"]) == (None, ["attributes.start_time ASC"])


def test_a_task_that_has_begun_none_begins_one(server: Server) -> None:
    start_run(experiment_id="7")
    assert server.started == [{"run_id": None, "experiment_id": "7"}]
    assert server.asked[0]["experiment_ids"] == ["7"]


@pytest.mark.parametrize(
    "given", [{"run_id": "own"}, {"nested": True}, {"parent_run_id": "other"}], ids=lambda given: next(iter(given))
)
def test_what_the_caller_names_is_not_looked_for(server: Server, given: dict[str, Any]) -> None:
    start_run(**given)
    assert server.asked == []
    assert server.started == [{"run_id": None, **given}]


def test_a_run_of_the_users_own_goes_first(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_RUN_ID", "own")
    start_run()
    assert (server.asked, server.started) == ([], [{"run_id": None}])


@pytest.mark.parametrize(("inside", "restarts"), [(False, 0), (True, 0)])
def test_outside_and_in_the_first_turn_there_is_nothing_to_look_for(
    server: Server, monkeypatch: pytest.MonkeyPatch, inside: bool, restarts: int
) -> None:
    monkeypatch.setattr(job, "inside", inside)
    monkeypatch.setattr(job, "restarts", restarts)
    start_run()
    assert (server.asked, server.started) == ([], [{"run_id": None}])
