"""What another user's text may do to the terminal of its reader: only show itself."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.cli.shared.output import Output
from hai_client.cli.shared.terminal import harmless, harmless_json, harmless_line

Hai = Callable[..., Any]

CLIPBOARD = "\x1b]52;c;ZXZpbA==\x07"
ATTACKS = {
    "clipboard": CLIPBOARD,
    "clipboard, ended by ST": "\x1b]52;c;ZXZpbA==\x1b\\",
    "clipboard, without an end": "\x1b]52;c;ZXZpbA==",
    "clipboard, of 8 bits": "\x9d52;c;ZXZpbA==\x9c",
    "title": "\x1b]0;root@login\x07",
    "hyperlink": "\x1b]8;;http://evil.example\x1b\\",
    "device control": "\x1bPq#0;2;0;0;0\x1b\\",
    "application command": "\x1b_Gf=100;AAAA\x1b\\",
    "a report that is typed back": "\x1b[6n",
    "another": "\x1b[>c",
    "one of xterm": "\x1b[21t",
    "cleared screen": "\x1b[2J\x1b[H",
    "cursor up": "\x1b[3A",
    "of 8 bits": "\x9b2J",
    "reset": "\x1bc",
    "character set": "\x1b(0",
    "alternate screen": "\x1b[?1049h",
    "a colour that is none": "\x1b[31;?m",
    "backspace": "\b\b\b",
    "bell": "\x07",
    "NUL": "\0",
    "direction": "\u202e\u2066",
    "an order in an order": "\x1b\x1b[6n[6n"[:5],
    "half of one": "\x1b[",
    "nothing but the start": "\x1b",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=list(ATTACKS))
def test_orders_do_not_reach_a_terminal(attack: str) -> None:
    assert harmless(f"before{attack}\nafter") == "before\nafter"


def test_colours_tabs_and_progress_do() -> None:
    text = "\x1b[1;31mred\x1b[0m\t50 %\r\x1b[38;5;208m100 %\x1b[m ümlaut 漢字 👍"
    assert harmless(text) == text


def test_colours_of_a_line_end_with_it() -> None:
    assert harmless_line("\x1b[31mred") == "\x1b[31mred\x1b[0m"
    assert harmless_line("\x1b[31mred\x1b[0m") == "\x1b[31mred\x1b[0m"
    assert harmless_line("plain") == "plain"


PIECES = st.lists(
    st.sampled_from([*ATTACKS.values(), "\x1b[31m", "a", "[", "6n", "]52;c;", "\\", "\r", "m", "\x1b["]), max_size=8
)


@given(st.one_of(st.text(max_size=40), PIECES.map("".join)))
def test_whatever_is_left_holds_no_order_but_colours(text: str) -> None:
    shown = harmless(text)
    rest = re.sub(r"\x1b\[[0-9;:]*m", "", shown)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", rest)
    assert harmless(shown) == shown


@given(st.text(max_size=40))
def test_json_means_the_same(text: str) -> None:
    assert json.loads(harmless_json(json.dumps(text, ensure_ascii=False))) == text


EVIL = f"loss 0.5 {CLIPBOARD}\x1b[32mok"


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Output.of_process.__func__  # type: ignore[attr-defined]

    def of_process(cls: type[Output]) -> Output:
        found = original(cls)
        found.terminal = True
        return found

    monkeypatch.setattr(Output, "of_process", classmethod(of_process))


@pytest.fixture
def evil(platform: Any, fake: Any) -> None:
    platform.add("digits", message=f"failed {CLIPBOARD}", job_state=CLIPBOARD, tags=[f"t{CLIPBOARD}"])
    platform.logs = {41: [EVIL]}


@pytest.mark.usefixtures("on_a_terminal", "evil")
@pytest.mark.parametrize(
    "words",
    [["logs", "digits"], ["logs", "-t", "digits"], ["logs", "-f", "digits"], ["logs", "--search", "loss", "digits"]],
)
def test_a_log_shows_its_text_and_steers_nothing(hai: Hai, words: list[str]) -> None:
    out = hai(*words).out
    assert "loss 0.5" in out
    assert "\x1b]" not in out
    assert "\x07" not in out


@pytest.mark.usefixtures("on_a_terminal", "evil")
def test_a_log_keeps_its_colours_and_can_be_had_raw(hai: Hai) -> None:
    assert hai("logs", "digits").out == "loss 0.5 \x1b[32mok\x1b[0m\n"
    assert hai("logs", "--raw", "digits").out == EVIL + "\n"


@pytest.mark.usefixtures("evil")
def test_a_log_in_a_pipe_is_as_it_was_printed(hai: Hai) -> None:
    assert hai("logs", "digits").out == EVIL + "\n"


@pytest.mark.usefixtures("evil")
@pytest.mark.parametrize("verb", ["list", "status", "explain", "describe"])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_verb_passes_orders_on(hai: Hai, verb: str, form: tuple[str, ...]) -> None:
    result = hai(*form, verb, *([] if verb == "list" else ["digits"]))
    assert result.code == 0
    assert not re.search(r"[\x07\x1b\x7f-\x9f]", result.out)


def test_json_for_a_terminal_escapes_what_it_would_obey() -> None:
    stdout = io.StringIO()
    Output(stdout, io.StringIO()).json({"name": "a\x9b2J\u202eé"})
    assert stdout.getvalue() == '{\n  "name": "a\\u009b2J\\u202eé"\n}\n'
