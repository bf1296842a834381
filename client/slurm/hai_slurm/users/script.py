"""Reads batch scripts and the options in their `#SBATCH` lines."""

from __future__ import annotations

import codecs
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hai_slurm.shared.getting import BadOption
from hai_slurm.shared.options import SBATCH, Words, of_environment, read

UTF_8 = "utf-8"
#: How a script of other bytes is sent: each byte is one character.
BYTES = "latin-1"
#: Size limit of a script, bytes: the script is passed as one argument of a program.
MAX_BYTES = 100 * 1024


@dataclass(frozen=True)
class Script:
    """A batch script: its text, its arguments, its name, and all options."""

    text: str
    arguments: tuple[str, ...]
    name: str
    words: Words
    file: str = ""  #: The name of its file; empty if it came from `--wrap` or a pipe.
    encoding: str = UTF_8  #: How `hai-batch` turns the text into the bytes of the script again.


def read_script(argv: Sequence[str], *, directory: Path) -> Script:
    """Read the script of a call of `sbatch`: a file with its arguments, `--wrap`, or standard input.

    Options of the command line win over those of variables such as SBATCH_PARTITION, and these over the script's.

    Raises:
        BadOption: An option is unknown, malformed or refused, or the file is no script.
    """
    said = read(argv, SBATCH, read(of_environment(os.environ), SBATCH, at="from the environment: "))
    if "wrap" in said.given:
        if said.rest:
            raise BadOption(f"--wrap: {said.rest[0]!r} is given as well; give a script or --wrap, not both")
        return Script(f"#!/bin/sh\n{said.given['wrap']}\n", (), "wrap", said)
    if said.rest:
        path = directory / said.rest[0]
        try:
            data = path.read_bytes()
        except OSError as error:
            raise BadOption(f"{said.rest[0]}: cannot be read: {error.strerror}") from None
        name = path.name
    else:
        data, name = sys.stdin.buffer.read(), "sbatch"
    check(data)
    text, encoding = _decoded(data)
    found = directives(text)
    found.given.update(said.given)
    found.notes += said.notes
    return Script(text, tuple(said.rest[1:]), name, found, said.rest[0] if said.rest else "", encoding)


def _decoded(data: bytes) -> tuple[str, str]:
    """Return a script as text, and how that becomes the same bytes again."""
    try:
        return data.decode(UTF_8), UTF_8
    except UnicodeDecodeError:
        return data.decode(BYTES), BYTES


def check(data: bytes) -> None:
    """Check that bytes are a script. Raises BadOption."""
    if data.startswith(codecs.BOM_UTF8):
        raise BadOption("the script begins with a byte order mark, before its #!: save it as UTF-8 without BOM")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadOption("the script is UTF-16: save it as UTF-8 without BOM")
    if not data.startswith(b"#!"):
        raise BadOption(
            "this does not look like a batch script: its first line must be #! and the path of an interpreter, "
            "for example #!/bin/bash"
        )
    if len(data) > MAX_BYTES:
        raise BadOption(f"the script is longer than {MAX_BYTES // 1024} KiB: put most of it into a file that it calls")
    if b"\r\n" in data.partition(b"\n")[0] + b"\n":
        raise BadOption("the script has the line breaks of DOS: convert it, for example with dos2unix")
    if b"\0" in data:
        raise BadOption("this is no text: give a script")


def directives(text: str) -> Words:
    """Return the options in the `#SBATCH` lines before the first command. Raises BadOption."""
    found = Words()
    # Not `splitlines`: it also ends a line at characters that are the middle of a comment for a shell.
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            break
        if not line.startswith("#SBATCH"):
            continue
        at = f"line {number}: "
        try:
            words = shlex.split(line[len("#SBATCH") :], comments=True)
        except ValueError as error:
            raise BadOption(f"{at}{line}: {error}") from None
        read(words, SBATCH, found, at=at)
        if found.rest:
            raise BadOption(f"{at}{found.rest[0]!r} is no option; write #SBATCH --NAME=VALUE")
    return found
