"""Runs a program such as uv, and hands on what it says while it runs: a build of minutes shows where it is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TextIO

from haienv.shared.beside import Beside
from haienv.shared.masking import masked


def run(
    words: Sequence[str], *, env: Mapping[str, str], stdin: str, log: TextIO, seen: Callable[[str], None]
) -> tuple[int, str, str]:
    """Run a program; return its status, its standard output, and its messages.

    Args:
        words: The program and its arguments.
        env: Its variables.
        stdin: What it reads.
        log: Each line of its messages is written there as it comes, without secrets.
        seen: Called with each such line.

    Raises:
        OSError: It cannot be started.
    """
    process = subprocess.Popen(
        words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    # Its input, its answer and its messages flow at the same time, so that neither side waits for the other.
    told, answer = Beside(lambda: _tell(process, stdin)), Beside(process.stdout.read)
    messages = []
    try:
        for line in process.stderr:
            text = masked(line)
            messages.append(text)
            log.write(text)
            log.flush()
            seen(text.rstrip("\n"))
        told.result()
        out = answer.result()
        return process.wait(), out, "".join(messages)
    except BaseException:
        # Ctrl-C, or nobody reads the progress any more: the program must not run on alone.
        process.kill()
        process.wait()
        raise
    finally:
        for stream in (process.stdout, process.stderr):
            stream.close()


def _tell(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    # It may end before it has read all.
    with suppress(BrokenPipeError), process.stdin:
        process.stdin.write(text)
