"""The tables of fields that need nothing but their definition, as client and panel get them."""

from __future__ import annotations

import pytest

from hai_scheduler.api.bindings.asked import in_python, in_typescript
from hai_scheduler.service.tasks.asked_fields import AskedField

SHAPE = AskedField(
    name="shape", wire="shape", kind="word", words=("round", "flat"), default="round", label="Shape", help="its shape"
)
PAUSE = AskedField(name="pause", wire="pause_s", kind="length", least=0, most=60, label="Pause", help="how long it's")


def test_the_client_gets_an_option_of_each() -> None:
    text = in_python("Doc.", [SHAPE, PAUSE])
    found = text.partition("ASKED_FIELDS = (")[2].split("    TaskOption(\n")[1:]
    assert found[0] == (
        '        name="shape",\n        kind="word",\n        words=("round", "flat"),\n        least=None,\n'
        '        most=None,\n        default="round",\n        label=lambda: label("Shape"),\n'
        '        help="its shape",\n    ),\n'
    )
    assert 'name="pause_s"' in found[1]
    assert "least=0,\n        most=60,\n        default=None" in found[1]


@pytest.mark.parametrize(("words", "written"), [((), "()"), (("a",), '("a",)'), (("a", "b"), '("a", "b")')])
def test_words_are_laid_out_as_ruff_wants_them(words: tuple[str, ...], written: str) -> None:
    one = AskedField(name="n", wire="n", kind="word", words=words, label="N", help="n")
    assert f"words={written}," in in_python("Doc.", [one])


def test_the_panel_gets_an_input_of_each_and_their_usual_values() -> None:
    text = in_typescript("Doc.", [SHAPE, PAUSE])
    assert "    words: ['round', 'flat'],\n" in text
    assert "    help: () => trans.__('How long it\\'s.')\n" in text
    assert text.endswith("export const ASKED_DEFAULTS = {\n  shape: 'round',\n  pause_s: null\n} as const;\n")
