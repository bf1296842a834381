"""What the document says of a submission, and what the service's checks say, are the same."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, validators
from pydantic import ValidationError

from hai_scheduler.api.bindings.openapi import document
from hai_scheduler.api.routes import ROUTES
from hai_scheduler.api.wire.environments import EnvironmentPut
from hai_scheduler.api.wire.explain import ForecastAsk
from hai_scheduler.api.wire.policy import PolicyChange
from hai_scheduler.api.wire.storage import MountPut
from hai_scheduler.api.wire.tasks import OrderChange
from hai_scheduler.api.wire.values import adapter_of, wire_name
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.tasks.submission_checks import check_shape
from hai_scheduler.service.workspace.rank_env import PLATFORM_VARIABLES

COMPONENTS = document(ROUTES)["components"]


def _pattern(_: Any, pattern: str, text: Any, __: Any) -> Any:
    """ECMA's `$` is the end of a text; Python's would also be before a last line break."""
    if isinstance(text, str) and not re.search(pattern.replace("$", r"\Z"), text):
        yield jsonschema.ValidationError(f"{text!r} does not match {pattern}")


Validator = validators.extend(Draft202012Validator, {"pattern": _pattern})


def schema_accepts(model: type, body: Any) -> bool:
    schema = {"$ref": f"#/components/schemas/{wire_name(model)}", "components": COMPONENTS}
    return bool(Validator(schema).is_valid(body))


def service_accepts(body: Any) -> bool:
    try:
        check_shape(adapter_of(Submission).validate_json(json.dumps(body), strict=True))
    except (ValidationError, Invalid):
        return False
    return True


ODD = st.text(alphabet=st.sampled_from("aZ09._-/ \n\0\x1b\u2028é{训\u200d"), max_size=5)
LONG = st.sampled_from([62, 63, 64, 127, 128, 129, 4095, 4096, 4097]).map(lambda length: "/" + "x" * (length - 1))
NAMES = st.one_of(ODD, LONG, LONG.map(lambda text: text.replace("/", "a")), st.just("train-1"), st.just("12"))
PATHS = st.one_of(ODD, LONG, ODD.map(lambda text: "/" + text))
VARIABLES = st.one_of(ODD, st.sampled_from(sorted(PLATFORM_VARIABLES)), st.from_regex(r"[A-Z_][A-Z0-9_]{0,3}"))
SECONDS = st.sampled_from([-1, 0, 0.5, 1, 315_360_000, 315_360_001, None, "1", True])
COUNTS = st.sampled_from([-1, 0, 1, 2, 100, 101, 255, 256, 100_000, 100_001, None, "1", True, 0.5])
FIELDS = {
    "name": NAMES,
    "command": st.one_of(st.lists(ODD, max_size=3), st.just("ls"), st.just([1]), st.just(["x"] * 1001)),
    "cwd": PATHS,
    "nodes": COUNTS,
    "gpus": COUNTS,
    "priority": st.sampled_from(["AUTO", "LOW", "low", "", None, 10]),
    "group": st.one_of(ODD, LONG),
    "env": st.dictionaries(VARIABLES, st.one_of(ODD, st.just(1)), max_size=2),
    "profile": st.sampled_from(["auto", "sigterm", "cooperative", "kill", "x", None]),
    "signal": st.sampled_from(
        [None, "USR1", "INT@0.5", "USR2@99999", "KILL", "USR1@", "usr1", "TERM@1e3", "INT\n", 10]
    ),
    "watch": st.one_of(st.lists(st.one_of(ODD, LONG), max_size=2), st.just(["x"] * 21), st.just([""])),
    "grace_s": SECONDS,
    "time_limit_s": SECONDS,
    "checkpoint_dir": st.one_of(st.none(), PATHS),
    "tags": st.one_of(st.lists(st.one_of(ODD, LONG), max_size=2), st.just(["x"] * 51)),
    "hold": st.sampled_from([True, False, None, "true"]),
    "retries": COUNTS,
    "retry_backoff_s": SECONDS,
    "retry_exit_codes": st.lists(COUNTS, max_size=2),
    "environment": st.one_of(st.none(), ODD, LONG),
    "colour": st.just(1),
}
GOOD = {"name": "t", "command": ["true"], "cwd": "/w"}


@given(st.fixed_dictionaries({}, optional=FIELDS), st.sampled_from([(), ("name",), ("command",), ("cwd",)]))
@example({"name": "a\n"}, ())
@example({"retries": 0, "retry_backoff_s": 1}, ())
@example({"profile": "kill", "signal": "USR1"}, ())
@example({"profile": "auto", "signal": "USR1@60"}, ())
@example({"retries": 1, "retry_backoff_s": 1, "retry_exit_codes": [1]}, ())
def test_the_document_and_the_checks_agree_on_any_submission(changes, missing) -> None:
    # One or two odd fields beside good ones: what is wrong everywhere proves nothing.
    for body in [{**GOOD, **dict(pair)} for pair in zip(changes.items(), strict=True)] or [dict(GOOD)]:
        for name in missing:
            body.pop(name, None)
        assert schema_accepts(Submission, body) == service_accepts(body), body
    assert schema_accepts(Submission, {**GOOD, **changes}) == service_accepts({**GOOD, **changes})


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("name", "a" * 63, "a" * 64),
        ("name", "1a", "12"),
        ("name", "a.b_c-d", "-a"),
        ("name", "1-2", "a b"),
        ("name", "训练", "训 练"),
        ("name", "обучение-1", "а\u200bб"),
        ("name", "प्रशिक्षण", "a\u202eb"),
        ("secrets", ["HF_TOKEN", "A=hf", "~/.netrc=netrc"], ["HF TOKEN"]),
        ("secrets", ["A=b.c-d"], ["~/../x=hf"]),
        ("secrets", ["HF_TOKEN"] * 1, ["HAI_VENV=hf"]),
        ("secrets", [f"A{number}=hf" for number in range(50)], [f"A{number}=hf" for number in range(51)]),
        ("command", ["a", ""], [""]),
        ("command", ["a"] * 1000, []),
        ("command", ["a b"], ["a\0b"]),
        ("cwd", "/", "w"),
        ("cwd", "/" + "x" * 4095, "/" + "x" * 4096),
        ("checkpoint_dir", None, "c"),
        ("checkpoint_dir", "/c", "/\0"),
        ("env", {"A_1": ""}, {"1A": ""}),
        ("env", {"_": "x"}, {"HAI_RANK": "1"}),
        ("env", {}, {"A": "\0"}),
        ("tags", ["x"] * 50, ["x"] * 51),
        ("retries", 100, 101),
        ("retry_backoff_s", 0, 1),
        ("retry_exit_codes", [], [1]),
        ("group", "", "\0"),
    ],
)
def test_what_is_just_good_and_what_is_just_bad(field: str, good: object, bad: object) -> None:
    for value, expected in ((good, True), (bad, False)):
        body = {**GOOD, field: value}
        assert (schema_accepts(Submission, body), service_accepts(body)) == (expected, expected)


@pytest.mark.parametrize(
    ("model", "body", "good"),
    [
        (OrderChange, {"before": 1}, True),
        (OrderChange, {"before": 1, "after": None}, True),
        (OrderChange, {"before": 1, "after": 2}, False),
        (OrderChange, {}, False),
        (OrderChange, {"before": None}, False),
        (ForecastAsk, {"task": 4}, True),
        (ForecastAsk, {"submit": GOOD}, True),
        (ForecastAsk, {"task": "t", "submit": GOOD}, False),
        (ForecastAsk, {}, False),
        (ForecastAsk, {"task": 4, "horizon_s": 7_776_000}, True),
        (ForecastAsk, {"task": 4, "horizon_s": 7_776_001}, False),
        (ForecastAsk, {"task": 4, "horizon_s": 0}, False),
        (PolicyChange, {"set": {"slice": "1h"}}, True),
        (PolicyChange, {"unset": ["slice"]}, True),
        (PolicyChange, {"unset": ["slize"]}, False),
        (PolicyChange, {}, False),
        (PolicyChange, {"set": {}, "unset": []}, False),
        (MountPut, {"subject": "public", "mount_path": "/d", "kind": "host_path", "source": "/s"}, True),
        (MountPut, {"subject": "public", "mount_path": "/d"}, False),
        (MountPut, {"subject": "public", "mount_path": "/d", "action": "remove"}, True),
        (MountPut, {"subject": "public", "mount_path": "/d", "action": "remove", "kind": "pvc"}, False),
        (MountPut, {"subject": "bob", "mount_path": "/d", "kind": "host_path", "source": "/s"}, False),
        (MountPut, {"subject": "public", "mount_path": "d", "kind": "host_path", "source": "/s"}, False),
        (EnvironmentPut, {"subjects": ["public"]}, True),
        (EnvironmentPut, {"subjects": []}, False),
        (EnvironmentPut, {"subjects": ["user:"]}, False),
        (EnvironmentPut, {"subjects": ["public"], "variables": {"A-B": "1"}}, False),
        (EnvironmentPut, {"subjects": ["public"], "python": "python"}, False),
    ],
    ids=str,
)
def test_other_bodies_are_described_as_narrowly_as_they_are_checked(model, body, good: bool) -> None:
    assert schema_accepts(model, body) == good
