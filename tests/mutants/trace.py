"""Which test runs which line of the mutated modules, and how long it takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

#: Lines of a file that a test has run.
Line = tuple[str, int]


#: A function that a test calls so often counts as run wholly: tracing each of its lines would take minutes.
OFTEN = 30


class Tracer:
    """Collects the lines that one test after the other runs."""

    def __init__(self, files: set[str]) -> None:
        self._files = files
        self._lines: dict[CodeType, set[int]] = {}
        self._calls: dict[CodeType, int] = {}

    def run(self, test: Callable[[], object]) -> tuple[set[Line], float]:
        """The lines that the test ran, and the processor's seconds that it took under the tracer."""
        self._lines, self._calls = {}, {}
        begun = time.process_time()
        sys.settrace(self._called)
        try:
            test()
        finally:
            sys.settrace(None)
        took = time.process_time() - begun
        return {(code.co_filename, line) for code, lines in self._lines.items() for line in lines}, took

    def _called(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files:
            return None
        calls = self._calls[code] = self._calls.get(code, 0) + 1
        if calls > OFTEN:
            return None
        lines = self._lines.setdefault(code, {frame.f_lineno})
        if calls == OFTEN:
            lines.update(line for *_, line in code.co_lines() if line is not None)
            return None

        def ran(frame: FrameType, _event: str, _arg: Any) -> Any:
            lines.add(frame.f_lineno)
            return ran

        return ran
