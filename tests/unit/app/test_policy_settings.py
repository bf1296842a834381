"""Policy numbers in a configuration: one trait a number, other numbers for some node groups, mistakes by name."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path

import pytest

from hai_scheduler.app.config import ConfigError, HaiScheduler, SchedulingPolicy
from hai_scheduler.app.settings_reference import reference
from hai_scheduler.core.model.policy import Policies, Policy, PolicyError
from hai_scheduler.service.shared.policy_numbers import BY_NAME, NUMBERS, NumberKind, changed, read, written
from hai_scheduler.service.shared.settings import ServiceSettings

BASE = ["--role", "api", "--state-dir", "/tmp/state", "--port", "1"]


def configured(tmp_path: Path, text: str, *arguments: str) -> ServiceSettings:
    file = tmp_path / "config.py"
    file.write_text(text)
    return HaiScheduler().settings([*BASE, "--config", str(file), *arguments]).service


# --- the table


def test_every_number_of_the_policy_is_in_the_table_and_the_other_way_round() -> None:
    assert {number.name for number in NUMBERS} == {field.name for field in dataclasses.fields(Policy)}
    assert set(BY_NAME) <= set(SchedulingPolicy.class_own_traits(config=True))


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_what_is_written_of_a_number_reads_as_the_same_number(number) -> None:
    value = getattr(Policy(), number.name)
    assert read(number.name, written(value)) == value
    assert isinstance(value, timedelta) == (number.kind is NumberKind.DURATION)
    assert isinstance(value, int) == (number.kind is NumberKind.INT)


@pytest.mark.parametrize("text", ["0s", "1ms", "90s", "1h30m20s", "1d2h3m4s5ms", "7d"])
def test_no_length_of_time_loses_anything(text: str) -> None:
    assert read("slice", written(read("slice", text))) == read("slice", text)


def test_a_number_is_read_as_people_and_as_json_write_it() -> None:
    assert read("slice", 90) == read("slice", "90s") == read("slice", "1m30s") == timedelta(seconds=90)
    assert read("min_run_per_switch", "2.5") == read("min_run_per_switch", 2.5)
    assert read("strikes", "3") == read("strikes", 3.0) == 3
    assert read("weights", "alice:2, bob:0.5") == read("weights", {"alice": 2, "bob": "0.5"})
    assert read("weights", "") == {}


@pytest.mark.parametrize(
    ("name", "given", "named"),
    [
        ("slice", "banana", "slice: 'banana' is not a length of time"),
        ("slice", -1, "slice is -1 seconds"),
        ("slice", 1e12, "write a length of time"),
        ("slice", True, "slice is True"),
        ("slice", None, "slice is None"),
        ("min_run_per_switch", float("nan"), "min_run_per_switch is nan: write a number"),
        ("min_run_per_switch", "1e999", "min_run_per_switch is '1e999'"),
        ("strikes", 2.5, "strikes is 2.5: write a whole number"),
        ("weights", ["alice"], "weights is"),
        ("weights", "alice", "weights names no user for 'alice'"),
        ("weights", {"alice": "much"}, "the weight of alice is 'much'"),
        ("weights", {"": 2}, "weights names no user for 2"),
        ("colour", 1, "'colour' is not a policy number: use min_run, slice"),
    ],
)
def test_what_cannot_be_read_is_named_with_the_remedy(name: str, given: object, named: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read(name, given)
    assert named in str(caught.value)
    assert caught.value.name == name


def test_some_numbers_of_a_policy_are_changed_and_checked_together() -> None:
    assert changed(Policy(), {"slice": "1h", "min_run": "45m"}).slice == timedelta(hours=1)
    with pytest.raises(PolicyError, match="below min_run"):
        changed(Policy(), {"min_run": "45m"})


# --- the configuration


def test_without_a_word_the_defaults_are_in_force() -> None:
    service = HaiScheduler().settings(BASE).service
    assert (service.policy, service.policy_written) == (Policies(), frozenset())


def test_every_kind_of_number_can_be_configured(tmp_path: Path) -> None:
    policy = configured(
        tmp_path,
        "p = c.SchedulingPolicy\np.half_life = '2h'\np.min_run_per_switch = 5\np.strikes = 4\n"
        "p.weights = {'alice': 2}\n",
    ).policy.default
    assert (policy.half_life, policy.min_run_per_switch, policy.strikes) == (timedelta(hours=2), 5.0, 4)
    assert policy.weights == {"alice": 2.0}


def test_a_group_has_its_own_numbers_on_top_of_those_of_all(tmp_path: Path) -> None:
    service = configured(
        tmp_path,
        "c.SchedulingPolicy.min_run_per_switch = 5\n"
        "c.SchedulingPolicy.groups = {'debug': {'slice': '10m', 'min_run': '2m'}}\n",
    )
    debug, other = service.policy.of("debug"), service.policy.of("training")
    assert (debug.slice, debug.min_run, debug.min_run_per_switch) == (timedelta(minutes=10), timedelta(minutes=2), 5.0)
    assert (other.slice, other.min_run_per_switch) == (timedelta(minutes=30), 5.0)
    assert service.policy_written == {(None, "min_run_per_switch"), ("debug", "slice"), ("debug", "min_run")}


def test_options_count_as_written(tmp_path: Path) -> None:
    assert configured(tmp_path, "", "--slice=2h").policy_written == {(None, "slice")}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("c.SchedulingPolicy.slice = 'banana'", r"SchedulingPolicy\.slice: slice: 'banana' is not a length of time"),
        ("c.SchedulingPolicy.min_run = '2h'", r"SchedulingPolicy\.slice: .*below min_run"),
        ("c.SchedulingPolicy.strikes = 'many'", "strikes"),
        (
            "c.SchedulingPolicy.min_run_per_switch = -1",
            r"SchedulingPolicy\.min_run_per_switch: min_run_per_switch is -1",
        ),
        ("c.SchedulingPolicy.weights = {'alice': 0}", "weight of alice"),
        ("c.SchedulingPolicy.groups = {'a': {'min_run': '2h'}}", r"groups\['a'\]: slice is .*below min_run"),
        ("c.SchedulingPolicy.groups = {'a': {'colour': 1}}", r"groups\['a'\]: 'colour' is not a policy number"),
        ("c.SchedulingPolicy.groups = {'a': {'strikes': 'x'}}", r"groups\['a'\]: strikes is 'x': write a number"),
        ("c.SchedulingPolicy.groups = {'a': '1h'}", r"groups\['a'\]: is '1h': write for example"),
    ],
    ids=lambda item: item.split(".")[-1] if item.startswith("c.") else "",
)
def test_what_is_wrong_is_named_with_its_group_and_remedy(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        configured(tmp_path, text)


def test_the_reference_lists_every_number_with_rule_and_default() -> None:
    rows = [line for line in reference().splitlines() if line.startswith("| `SchedulingPolicy.")]
    assert len(rows) == len(NUMBERS) + 1
    assert "| `SchedulingPolicy.half_life` | text | `1h` | O3: " in "\n".join(rows)
    assert rows[-1].startswith("| `SchedulingPolicy.groups` | table |")
