"""The table of what was seen: a line for each part, `ok`, `failed`, or `not shown` with its reason."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

OK, FAILED, NOT_SHOWN = "ok", "failed", "not shown"


class NotShown(Exception):
    """A part cannot be shown here; the message says why, and what would help."""


class Table:
    """The lines so far.

    Args:
        about: What the figures are of.
        say: Gets each line as text.
        ends: When all must be over, on the clock of `time.monotonic`.
        out: The folder for gpu.json and gpu.md, which have all lines so far at any time.
    """

    def __init__(self, about: dict[str, str], say: Callable[[str], None], ends: float, out: Path) -> None:
        self.about = about
        self.lines: list[dict[str, str]] = []
        self.ends = ends
        self._say = say
        self._out = out

    @property
    def failed(self) -> bool:
        """Whether anything was not as it must be."""
        return any(line["state"] == FAILED for line in self.lines)

    def show(self, part: str, show: Callable[[], str], *, takes_s: float = 10) -> None:
        """Add the line of a part: `show` returns its figures, or fails. `takes_s`: so much time it must have."""
        try:
            if self.ends - time.monotonic() < takes_s:
                raise NotShown(f"no time was left: it takes {takes_s:.0f} s")
            state, text = OK, show()
        except NotShown as why:
            state, text = NOT_SHOWN, str(why)
        except AssertionError as what:
            state, text = FAILED, str(what)
        except Exception as error:  # noqa: BLE001  The other parts go on.
            state, text = FAILED, f"{type(error).__name__}: {error}"
        self.lines.append({"part": part, "state": state, "text": " ".join(text.split())})
        self._say(f"{state:9}  {part}: {self.lines[-1]['text']}")
        self._write()

    def _write(self) -> None:
        self._out.mkdir(parents=True, exist_ok=True)
        (self._out / "gpu.json").write_text(json.dumps({**self.about, "parts": self.lines}, indent=1) + "\n")
        head = ", ".join(f"{name} {value}" for name, value in self.about.items())
        rows = ("| {part} | {state} | {text} |\n".format_map(_cells(line)) for line in self.lines)
        (self._out / "gpu.md").write_text(
            f"{head}\n\n| part | state | figures, or why |\n|---|---|---|\n{''.join(rows)}"
        )


def _cells(line: dict[str, str]) -> dict[str, str]:
    return {name: text.replace("|", "\\|") for name, text in line.items()}
