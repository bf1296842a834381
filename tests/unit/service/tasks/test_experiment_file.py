"""The keys of an experiment file: what each must be, and what is said of those that are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.service.tasks.experiment_file import ExperimentFile, a_kind

#: What is shown of values that are neither a text nor a whole number, a truth value or null.
SHOWN = {"['ssh']": "a list", "['x']": "a list", "1.5": "a value of another kind", "1.0": "a value of another kind"}


def faults(file: ExperimentFile) -> list[tuple[str, Any, str]]:
    return [(fault.field, fault.value, fault.message) for fault in file.faults]


def test_known_keys_are_no_fault() -> None:
    file = ExperimentFile({"version": 2, "name": "n", "priority": 1, "spec": {}, "resource": {}, "options": {}})
    assert faults(file) == []


@pytest.mark.parametrize(
    ("root", "path", "said"),
    [
        ({"nmae": "x"}, "nmae", "is not a key of an experiment: did you mean 'name'?"),
        ({"zzz": 1}, "zzz", "known are name, options, priority, resource, services, spec, version"),
        ({"services": ["ssh"]}, "services", "HAI starts no services beside a task"),
    ],
)
def test_an_unknown_key_is_named_with_a_remedy(root: dict[str, Any], path: str, said: str) -> None:
    ((field, value, message),) = faults(ExperimentFile(root))
    assert (field, value) == (path, SHOWN.get(str(root[path]), root[path]))
    assert said in message


@pytest.mark.parametrize("value", [None, False, [], "", 0, {}], ids=repr)
def test_a_key_of_the_original_without_an_effect_is_no_fault(value: object) -> None:
    assert faults(ExperimentFile({"services": value})) == []


def test_keys_of_a_section_are_checked_when_it_is_read() -> None:
    file = ExperimentFile({"resource": {"node_cuont": 1, "cpu": 4, "is_spot": False}, "options": {"nme": 1}})
    assert faults(file) == []
    assert file.section("resource") == {"node_cuont": 1, "cpu": 4, "is_spot": False}
    assert [(field, message.partition(":")[0]) for field, _, message in faults(file)] == [
        ("resource.node_cuont", "is not a key of an experiment"),
        ("resource.cpu", "a task takes whole nodes"),
    ]
    assert "did you mean 'node_count'?" in faults(file)[0][2]


@pytest.mark.parametrize(
    ("root", "section", "said"),
    [
        ({}, {}, None),
        ({"spec": None}, {}, None),
        ({"spec": {"workspace": "/w"}}, {"workspace": "/w"}, None),
        ({"spec": "x"}, {}, "must be a mapping, not a text"),
        ({"spec": []}, {}, "must be a mapping, not a list"),
        ({"spec": True}, {}, "must be a mapping, not a truth value"),
    ],
)
def test_a_section_is_a_mapping_or_left_out(root: dict[str, Any], section: dict[str, Any], said: str | None) -> None:
    file = ExperimentFile(root)
    assert file.section("spec") == section
    assert [message for _, _, message in faults(file)] == ([] if said is None else [said])


#: the reader, what is given (absent: no key), what is read, what is said
VALUES: list[tuple[str, dict[str, Any], Any, str | None]] = [
    ("text", {"k": "x"}, "x", None),
    ("text", {"k": 7}, "7", None),
    ("text", {}, "", "is missing"),
    ("text", {"k": None}, "", "is missing"),
    ("text", {"k": ""}, "", "is missing"),
    ("text", {"k": True}, "", "must be a text, not a truth value"),
    ("text", {"k": 1.5}, "", "must be a text, not a value of another kind"),
    ("text", {"k": ["x"]}, "", "must be a text, not a list"),
    ("flag", {}, False, None),
    ("flag", {"k": None}, False, None),
    ("flag", {"k": True}, True, None),
    ("flag", {"k": 0}, False, "must be true or false, not a number"),
    ("flag", {"k": "yes"}, False, "must be true or false, not a text"),
    ("number", {}, None, None),
    ("number", {"k": None}, None, None),
    ("number", {"k": 1}, 1, None),
    ("number", {"k": 9}, 9, None),
    ("number", {"k": 0}, None, "must be a whole number, from 1 to 9"),
    ("number", {"k": 10}, None, "must be a whole number, from 1 to 9"),
    ("number", {"k": True}, None, "must be a whole number, from 1 to 9"),
    ("number", {"k": "3"}, None, "must be a whole number, from 1 to 9"),
    ("number", {"k": 1.0}, None, "must be a whole number, from 1 to 9"),
]


@pytest.mark.parametrize(("kind", "section", "value", "said"), VALUES, ids=lambda value: str(value)[:30])
def test_a_wrong_value_is_a_fault_and_reads_as_if_it_were_missing(
    kind: str, section: dict[str, Any], value: object, said: str | None
) -> None:
    file = ExperimentFile({})
    bounds = {"least": 1, "most": 9} if kind == "number" else {}
    assert getattr(file, kind)(section, "spec.k", **bounds) == value
    assert faults(file) == (
        [] if said is None else [("spec.k", SHOWN.get(str(section.get("k")), section.get("k")), said)]
    )


def test_a_number_without_an_upper_bound() -> None:
    file = ExperimentFile({})
    assert file.number({"k": 10**9}, "options.k", least=0) == 10**9
    assert file.number({"k": -1}, "options.k", least=0) is None
    assert faults(file) == [("options.k", -1, "must be a whole number, 0 or more")]


def test_each_wrong_text_of_a_list_is_named_by_its_place() -> None:
    file = ExperimentFile({})
    assert file.texts("options.tags", ["a", 1, True, None, {"b": 1}]) == ("a", "1")
    assert [(field, message) for field, _, message in faults(file)] == [
        ("options.tags[2]", "must be a text, not a truth value: put it in quotes"),
        ("options.tags[3]", "must be a text, not null: put it in quotes"),
        ("options.tags[4]", "must be a text, not a mapping: put it in quotes"),
    ]


def test_kinds_are_told_in_words() -> None:
    assert [a_kind(value) for value in (None, 1, "", [], {}, True)] == [
        "null",
        "a number",
        "a text",
        "a list",
        "a mapping",
        "a truth value",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (7, 7),
        (None, None),
        ("x" * 500, "x" * 200),
        (["x"] * 10**6, "a list"),
        ({"a": 1}, "a mapping"),
        (1.5, "a value of another kind"),
    ],
    ids=["number", "null", "long text", "long list", "mapping", "float"],
)
def test_a_value_is_shown_in_part_and_a_container_by_its_kind(value: object, shown: object) -> None:
    """Aliases can make a short file print as a very long one."""
    file = ExperimentFile({})
    file.fault("k", value, "is wrong")
    assert faults(file) == [("k", shown, "is wrong")]
