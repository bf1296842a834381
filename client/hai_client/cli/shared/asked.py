"""Options, values and lines of the fields of a task that need nothing but their definition."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from hai_client.backports import dataclass
from hai_client.cli.shared import parser as words_
from hai_client.durations import format_duration
from hai_client.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOption:
    """One of these fields; `kind` is `number`, `length`, `flag`, `text` or `word`."""

    name: str  #: Its name in requests and answers.
    kind: str
    words: tuple[str, ...]  #: What it can be, for `word`.
    least: float | None
    most: float | None
    default: Any
    label: Callable[[], str]  #: Its name for users, in their language.
    help: str  #: What its option says.

    @property
    def word(self) -> str:
        """The word of its option: `time-limit` of `time_limit_s`."""
        return (self.name[:-2] if self.kind == "length" else self.name).replace("_", "-")

    def read(self, text: str) -> Any:
        """Return the value of a text. Raises Invalid."""
        if self.kind == "number":
            return self._within(words_.count(self.word, least=int(self.least or 0))(text), text)
        if self.kind == "length":
            return self._within(words_.duration(self.word, least_s=self.least or 0.0)(text), text)
        return text

    def _within(self, value: float, text: str) -> float:
        if self.most is not None and value > self.most:
            raise Invalid(f"{self.word}: {text!r} is too much; give at most {self.most:g}")
        return value

    def text(self, value: Any) -> str:
        """Return a value for the eye."""
        return format_duration(value) if self.kind == "length" else str(value)


def add_options(parser: argparse.ArgumentParser, fields: Iterable[TaskOption]) -> None:
    """Add the option of each field."""
    for field in fields:
        given: dict[str, Any] = {"dest": field.name, "default": field.default}
        if field.kind == "flag":
            parser.add_argument(f"--{field.word}", action="store_true", help=field.help, **given)
            continue
        if field.kind == "word":
            given["choices"] = field.words
        else:
            given["type"] = field.read
            given["metavar"] = {"number": "N", "length": "TIME"}.get(field.kind, "TEXT")
        usual = "" if field.default is None else f" ({field.text(field.default)})"
        parser.add_argument(f"--{field.word}", help=field.help + usual, **given)
