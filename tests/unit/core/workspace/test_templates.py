"""Templates: what can be written in them, what is refused by name, and that a path stays where its rule says."""

from __future__ import annotations

import os
import posixpath
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hai_scheduler.core.workspace.templates import (
    MAX_PATH,
    PathTemplate,
    Template,
    TemplateError,
    TemplateField,
    Unresolvable,
    below,
)

#: More examples with, for example, HAI_EXAMPLES=20.
MORE = int(os.environ.get("HAI_EXAMPLES", "1"))
VALUES = {TemplateField.USER: "alice", TemplateField.GROUP: "ml", TemplateField.TASK: "41"}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("", ""),
        ("plain", "plain"),
        ("{user}", "alice"),
        ("{user}-{group}-{task}", "alice-ml-41"),
        ("{{user}}", "{user}"),
        ('{{"a": "{user}"}}', '{"a": "alice"}'),
        ("{{{user}}}", "{alice}"),
        ("{user}}}", "alice}"),
        ("%s $HOME {user!}".replace("{user!}", "{user}"), "%s $HOME alice"),
    ],
)
def test_a_template_is_filled_in(text: str, filled: str) -> None:
    assert Template.parse(text).fill(VALUES) == filled


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{home}", "{home} is not known: the fields here are {user}, {group}, {task}"),
        ("{}", "{} is not known"),
        ("{0}", "{0} is not known"),
        ("{ user }", "{ user } is not known"),
        ("{USER}", "{USER} is not known"),
        ("{user.name}", "{user.name} looks into something, which is not allowed"),
        ("{user.__class__.__mro__}", "looks into something"),
        ("{user[0]}", "looks into something"),
        ("{user!r}", "{user!r} has a conversion (after '!'), which is not allowed"),
        ("{user:>10}", "{user:>10} has a format (after ':'), which is not allowed"),
        ("{user:{task}}", "there is a single '{'"),
        ("{user", "there is a single '{': write '{{' for a brace that is meant"),
        ("user}", "there is a single '}': write '}}' for a brace that is meant"),
        ("{us{er}", "there is a single '{'"),
        ("{{user}", "there is a single '}'"),
    ],
)
def test_whatever_else_is_in_braces_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(TemplateError) as caught:
        Template.parse(text)
    assert said in str(caught.value)


def test_a_field_that_means_nothing_here_is_refused() -> None:
    with pytest.raises(TemplateError, match=r"\{group\} means nothing here: the fields here are \{user\}"):
        Template.parse("/home/{group}", allowed=(TemplateField.USER,))
    with pytest.raises(TemplateError, match="the fields here are none"):
        Template.parse("{user}", allowed=())


@pytest.mark.parametrize(
    ("text", "path", "prefix"),
    [
        ("/data", "/data", "/data"),
        ("//data///x/", "/data/x", "/data/x"),
        ("/", "/", "/"),
        ("/home/{user}", "/home/alice", "/home"),
        ("/data/{group}/{user}/runs", "/data/ml/alice/runs", "/data"),
        ("/data/u-{user}.d/{task}", "/data/u-alice.d/41", "/data"),
        ("/a b/ä/{user}", "/a b/ä/alice", "/a b/ä"),
    ],
)
def test_a_path_is_normalised_and_filled_in(text: str, path: str, prefix: str) -> None:
    template = PathTemplate.parse(text)
    assert (template.fill(VALUES), template.prefix) == (path, prefix)
    assert PathTemplate.parse(str(template)) == template


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("data", "is not absolute"),
        ("", "is not absolute"),
        ("~/x", "is not absolute"),
        ("{user}/x", "is not absolute"),
        ("/{user}", "begins with a field"),
        ("/{user}/x", "begins with a field"),
        ("/data/..", "holds '..'"),
        ("/data/../etc", "holds '..'"),
        ("/data/..{user}", "holds '..'"),
        ("/data/{user}../x", "holds '..'"),
        ("/data/./x", "or '.' as a folder"),
        ("/data/\0", "holds a control character"),
        ("/data/\n", "holds a control character"),
        ("/data/{{x}}", "holds a brace that belongs to no field"),
        ("/data/{us/er}", "there is a single '{'"),
        ("/" + "x" * MAX_PATH, "is longer than"),
    ],
    ids=lambda text: text[:20].encode("unicode_escape").decode(),
)
def test_a_path_that_could_lead_elsewhere_is_refused(text: str, said: str) -> None:
    with pytest.raises(TemplateError) as caught:
        PathTemplate.parse(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "/",
        "/etc",
        "../bob",
        "a..b",
        "a\0b",
        "a\nb",
        "{user}",
        "a}",
        "\ud800",
        "x" * 256,
        "ä" * 128,
    ],
    ids=lambda name: name[:12].encode("unicode_escape").decode() or "empty",
)
def test_a_name_that_is_no_safe_part_of_a_path_is_refused(name: str) -> None:
    with pytest.raises(Unresolvable):
        PathTemplate.parse("/home/{user}").fill({TemplateField.USER: name})


def test_the_error_says_which_name_and_why() -> None:
    with pytest.raises(Unresolvable, match=r"the user name '\.\./bob' cannot be part of a path"):
        PathTemplate.parse("/home/{user}").fill({TemplateField.USER: "../bob"})
    with pytest.raises(Unresolvable, match="the group name is empty"):
        PathTemplate.parse("/home/{group}").fill({TemplateField.GROUP: ""})


def test_a_folder_within_something_is_relative() -> None:
    template = PathTemplate.parse("claim/{user}", absolute=False)
    assert (template.fill(VALUES), template.prefix, str(template)) == ("claim/alice", "claim", "claim/{user}")


NASTY = st.sampled_from(
    ["", ".", "..", "...", "/", "//", "/..", "{", "}", "{user}", "{{", "}}", "\0", "\n", "~", "a", ":"]
)
TEXTS = st.lists(NASTY | st.text(max_size=6), max_size=12).map("".join)
NAMES = st.lists(NASTY | st.text(max_size=4), max_size=4).map("".join)


@settings(max_examples=300 * MORE, deadline=None)
@given(text=TEXTS, user=NAMES, group=NAMES)
@example(text="/a/{user}/{group}", user=".", group=".")
@example(text="/a/{user}{group}", user=".", group=".")
@example(text="/a/.{user}", user=".", group="")
def test_no_input_whatsoever_leads_outside_the_literal_prefix(text: str, user: str, group: str) -> None:
    try:
        template = PathTemplate.parse("/top/" + text)
        path = template.fill({TemplateField.USER: user, TemplateField.GROUP: group, TemplateField.TASK: "7"})
    except (TemplateError, Unresolvable):
        return
    assert posixpath.normpath(path) == path
    assert below(path, template.prefix)
    assert below(path, "/top")
    assert "\0" not in path
    assert not {"{", "}"} & set(path)
    assert path.count("/") == str(template).count("/"), "a name never adds or removes a folder"
    if template.fields:
        assert path != template.prefix


@given(text=TEXTS | st.text())
def test_whatever_is_read_is_written_as_it_is_read(text: str) -> None:
    try:
        template = PathTemplate.parse("/" + text)
    except TemplateError:
        return
    assert PathTemplate.parse(str(template)) == template


@given(text=st.text(), values=st.fixed_dictionaries({field: st.just("v") for field in TemplateField}))
def test_a_text_without_braces_means_itself(text: str, values: dict[TemplateField, Any]) -> None:
    plain = text.replace("{", "").replace("}", "")
    assert Template.parse(plain).fill(values) == plain


@given(text=st.text())
def test_doubled_braces_mean_themselves(text: str) -> None:
    assert Template.parse(text.replace("{", "{{").replace("}", "}}")).fill({}) == text


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [
        ("/etc", "/etc", True),
        ("/etc/x", "/etc", True),
        ("/etcetera", "/etc", False),
        ("/", "/etc", False),
        ("/x", "/", True),
    ],
)
def test_below_goes_by_folders_not_by_letters(path: str, folder: str, inside: bool) -> None:
    assert below(path, folder) is inside
