"""Every error has one answer, and faults of ours tell nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError
from tornado.web import HTTPError

from hai_scheduler.api.server.problems import CODES, MOST_ERRORS, Refused, incident, problem_of
from hai_scheduler.api.wire.values import adapter_of
from hai_scheduler.ports.errors import Absent, LeaseLost, Temporary, WriteConflict
from hai_scheduler.service.shared import errors
from hai_scheduler.service.tasks.experiments import InvalidExperiment
from hai_scheduler.service.tasks.submission import Submission
from kit.operations import operations

CLASSES = [
    errors.NotFound,
    errors.Forbidden,
    errors.Conflict,
    errors.QuotaExceeded,
    errors.Unavailable,
    errors.TooMany,
    errors.TooCostly,
]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_of_the_service_has_a_status(kind) -> None:
    problem = problem_of(kind("Do that instead."))
    assert problem is not None
    assert (problem.code, problem.status) == (kind.code, CODES[kind.code][0])
    assert problem.detail == "Do that instead."


def test_no_error_of_the_service_was_forgotten() -> None:
    known = {*CLASSES, errors.Invalid, errors.Overtaken, errors.TooMany, InvalidExperiment}
    waiting = [errors.HaiError]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind is not errors.HaiError and kind.__module__.startswith("hai_scheduler.service"):
            assert kind in known


def test_a_wrong_field_is_named_with_value_and_remedy() -> None:
    problem = problem_of(errors.Invalid("nodes", 0, "ask for 1 or more"))
    assert problem is not None
    assert problem.detail == "nodes: ask for 1 or more"
    assert [error.model_dump() for error in problem.errors] == [
        {"field": "nodes", "value": 0, "message": "ask for 1 or more"}
    ]


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("name", "x" * 300, "x" * 200 + "…"),
        ("name", ":/" * 1000, None),
        ("env.TOKEN", "secret", None),
        ("spec.environments.TOKEN", "secret", None),
        ("env", {"TOKEN": "secret"}, None),
        ("command", ["a"], ["a"]),
        ("command", ["a" * 300], None),
        ("x", object(), None),
        ("x", 10**400, None),
    ],
)
def test_values_are_repeated_only_if_short_and_no_secret(field, value, shown) -> None:
    problem = problem_of(errors.Invalid(field, value, "is wrong"))
    assert problem is not None
    assert problem.errors[0].value == shown


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (WriteConflict("secret"), "conflict"),
        (LeaseLost("secret"), "conflict"),
        (Absent("secret"), "not_found"),
        (Temporary("secret"), "unavailable"),
        (HTTPError(404, "secret"), "not_found"),
        (HTTPError(405, "secret"), "method_not_allowed"),
        (HTTPError(418, "secret"), "invalid"),
        (Refused("gone", "It is over."), "gone"),
    ],
)
def test_errors_of_other_layers_tell_their_meaning_and_not_their_text(error, code) -> None:
    problem = problem_of(error)
    assert problem is not None
    assert problem.code == code
    assert "secret" not in problem.model_dump_json()


@pytest.mark.parametrize("error", [RuntimeError("secret"), KeyError("secret"), HTTPError(500, "secret"), OSError()])
def test_other_errors_are_faults_of_ours(error) -> None:
    assert problem_of(error) is None


def test_an_incident_has_a_name_of_its_own() -> None:
    (first, problem), (second, _) = incident(), incident()
    assert first != second
    assert first in problem.detail


def test_a_body_that_is_nothing_but_faults_costs_no_more_than_a_few() -> None:
    told: list[Any] = []

    def work(faults: int) -> int:
        body = json.dumps({f"x{number}": 0 for number in range(faults)})
        with pytest.raises(ValidationError) as caught:
            adapter_of(Submission).validate_json(body)
        return operations(lambda: told.append(problem_of(caught.value)))

    found = [work(faults) for faults in (200, MOST_ERRORS + 1, 5000)]
    assert len(told[0].errors) == 100
    assert "meant for another request" in told[1].detail
    assert found[2] <= found[1] < found[0]


@pytest.mark.parametrize(
    "value",
    ["https://hooks.slack.example/services/T/B/S3CR3T", "https://ann:S3CR3T@h/x", "x?token=S3CR3T",
     ["--password=S3CR3T"], {"url": "https://S3CR3T@h"}],
)  # fmt: skip
def test_a_secret_of_the_request_is_not_repeated(value: object) -> None:
    for error in (errors.Invalid("webhook", value, f"{value} is wrong"), errors.Conflict(f"{value} is there already")):
        assert "S3CR3T" not in problem_of(error).model_dump_json()
