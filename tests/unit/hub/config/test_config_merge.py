"""Additions to a configuration that the administrator has begun: what is set there stays."""

from __future__ import annotations

from typing import Any

import pytest
from traitlets import Dict, List, Set, Unicode
from traitlets.config import Config, Configurable

from hai_hub.config.config_merge import add_named, add_to_set, add_to_table, given, plain, set_default


class Some(Configurable):
    """A class with a trait of each kind, and defaults of its own."""

    text = Unicode("default").tag(config=True)
    names = Set({"default"}).tag(config=True)
    table = Dict({"default": 0}).tag(config=True)
    entries = List([]).tag(config=True)


def a_config(**traits: Any) -> Config:
    return Config({"Some": traits} if traits else {})


def added_before(trait: str, how: str, value: Any) -> Config:
    """A configuration in which the administrator has only added to a default: `c.Some.names.update({"x"})`."""
    c = Config()
    getattr(c.Some[trait], how)(value)
    return c


@pytest.mark.parametrize(
    ("c", "is_given", "value"),
    [
        (Config(), False, None),
        (a_config(names={"a"}), False, None),
        (a_config(text="a"), True, "a"),
        (a_config(text=""), True, ""),
        (a_config(text=None), True, None),
    ],
    ids=["nothing", "another trait", "a value", "an empty value", "None"],
)
def test_an_empty_value_is_a_value(c: Config, is_given: bool, value: object) -> None:
    assert given(c, "Some", "text") is is_given
    assert plain(c, "Some", "text") == value


def test_looking_sets_nothing() -> None:
    c = Config()
    given(c, "Some", "text")
    plain(c, "Some", "text")
    assert dict(c) == {}


@pytest.mark.parametrize(
    ("c", "text"),
    [(Config(), "ours"), (a_config(text="theirs"), "theirs"), (a_config(text=""), "")],
    ids=["nothing", "a value", "an empty value"],
)
def test_a_default_is_set_where_no_value_is(c: Config, text: str) -> None:
    set_default(c, "Some", "text", "ours")
    assert Some(config=c).text == text


@pytest.mark.parametrize(
    ("c", "names"),
    [
        (Config(), {"default", "ours"}),
        (a_config(names={"theirs"}), {"theirs", "ours"}),
        (a_config(names=set()), {"ours"}),
        (added_before("names", "update", {"theirs"}), {"default", "theirs", "ours"}),
    ],
    ids=["nothing", "a value", "an empty value", "an addition"],
)
def test_a_set_keeps_its_default_or_the_administrators_values(c: Config, names: set[str]) -> None:
    add_to_set(c, "Some", "names", ["ours"])
    assert Some(config=c).names == names


@pytest.mark.parametrize(
    ("c", "table"),
    [
        (Config(), {"default": 0, "both": "ours", "ours": 1}),
        (a_config(table={"both": "theirs"}), {"both": "theirs", "ours": 1}),
        (a_config(table={}), {"both": "ours", "ours": 1}),
    ],
    ids=["nothing", "a value", "an empty value"],
)
def test_a_key_of_the_administrators_table_keeps_its_value(c: Config, table: dict[str, Any]) -> None:
    add_to_table(c, "Some", "table", {"both": "ours", "ours": 1})
    assert Some(config=c).table == table


def test_values_of_the_administrator_are_not_changed_in_place() -> None:
    names, table, entries = {"theirs"}, {"theirs": 1}, [{"name": "theirs"}]
    c = Config()
    c.Some.names, c.Some.table, c.JupyterHub.services = names, table, entries
    add_to_set(c, "Some", "names", {"ours"})
    add_to_table(c, "Some", "table", {"ours": 1})
    add_named(c, "services", [{"name": "ours"}])
    assert (names, table, entries) == ({"theirs"}, {"theirs": 1}, [{"name": "theirs"}])
    assert (c.Some.names, c.Some.table) == ({"theirs", "ours"}, {"theirs": 1, "ours": 1})


OURS = ({"name": "hai", "url": "ours"}, {"name": "hai-loop"})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, ["hai ours", "hai-loop -"]),
        ([], ["hai ours", "hai-loop -"]),
        ([{"name": "culler"}], ["culler -", "hai ours", "hai-loop -"]),
        ([{"name": "hai", "url": "theirs"}], ["hai theirs", "hai-loop -"]),
        ([{"url": "nameless"}], ["None nameless", "hai ours", "hai-loop -"]),
    ],
    ids=["nothing", "an empty list", "another", "the same name", "one without a name"],
)
def test_an_entry_whose_name_is_taken_is_left_out(before: list[dict[str, str]] | None, after: list[str]) -> None:
    c = Config()
    if before is not None:
        c.JupyterHub.services = before
    add_named(c, "services", OURS)
    assert [f"{entry.get('name')} {entry.get('url', '-')}" for entry in c.JupyterHub.services] == after


def test_entries_that_were_added_to_a_default_are_kept() -> None:
    c = Config()
    c.JupyterHub.services.append({"name": "hai", "url": "theirs"})
    add_named(c, "services", OURS)
    assert [entry["name"] for entry in c.JupyterHub.services] == ["hai", "hai-loop"]
    assert c.JupyterHub.services[0]["url"] == "theirs"


def test_an_entry_is_a_copy_that_may_be_changed() -> None:
    c, ours = Config(), {"name": "hai"}
    add_named(c, "services", [ours])
    c.JupyterHub.services[0]["url"] = "changed"
    assert ours == {"name": "hai"}
