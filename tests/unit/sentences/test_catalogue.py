"""The languages: which one a reader gets, and that each says the same with the same values."""

from __future__ import annotations

import string

import pytest

from hai_scheduler.sentences.catalogue import ENGLISH, Language, languages, preferred

OTHERS = [language for language in languages().values() if language is not ENGLISH and language.tag != "en"]


@pytest.mark.parametrize(
    ("header", "tag"),
    [
        ("", "en"),
        ("zh-CN", "zh-CN"),
        ("zh", "zh-CN"),
        ("ZH-hans-cn, en", "zh-CN"),
        ("fr, zh;q=0.8, en;q=0.9", "en"),
        ("fr, zh;q=0.9, en;q=0.8", "zh-CN"),
        ("en-GB,zh", "en"),
        ("zh-TW", "en"),
        ("zh-Hant-HK, zh-CN;q=0.5", "zh-CN"),
        ("zh;q=0", "en"),
        ("zh;q=many", "en"),
        ("*", "en"),
        (", ;q=1, " * 100 + "zh", "en"),
    ],
)
def test_a_reader_gets_the_language_that_is_asked_for_first(header: str, tag: str) -> None:
    assert preferred(header).tag == tag


def test_a_number_chooses_the_form_of_a_text() -> None:
    say = Language("xx", {"a": {"one": "one", "other": "{n} of {what}"}, "b": {"zero": "no", "other": "{n}"}})
    assert [say("a", n=n, what="x") for n in (0, 1, 2)] == ["0 of x", "one", "2 of x"]
    assert [say("b", n=n) for n in (0, 1)] == ["no", "1"]
    with pytest.raises(KeyError):
        say("c")


def values_of(text: object) -> set[str]:
    """The values that a text has places for, in any of its forms; the number that chooses the form is none of them."""
    forms = [text] if isinstance(text, str) else list(dict(text).values())  # type: ignore[call-overload]
    return {name for form in forms for _, name, _, _ in string.Formatter().parse(form) if name} - (
        set() if isinstance(text, str) else {"n"}
    )


@pytest.mark.parametrize("language", OTHERS, ids=[language.tag for language in OTHERS])
def test_each_language_says_the_same_with_the_same_values(language: Language) -> None:
    assert set(language.texts) == set(ENGLISH.texts)
    differ = {
        key: (values_of(text), values_of(language.texts[key]))
        for key, text in ENGLISH.texts.items()
        if values_of(text) != values_of(language.texts[key])
        or isinstance(text, str) != isinstance(language.texts[key], str)
    }
    assert differ == {}


@pytest.mark.parametrize("tag", sorted(languages()))
def test_no_text_is_empty_and_each_number_has_a_form(tag: str) -> None:
    for key, text in languages()[tag].texts.items():
        assert text or key == "words.between", key
        assert isinstance(text, str) or "other" in text, key
