"""What a file asks for, whatever kind of file it is."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from haienv.shared.errors import Wrong
from haienv.shared.masking import quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What one file, or several together, ask for."""

    #: Requirements of pip, one each, with the hashes (`--hash=sha256:...`) that a lock file names.
    requirements: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()  #: Requirements that only limit versions (`-c` of pip).
    python: str | None = None  #: The versions of Python that it is for, such as `>=3.9,<3.13`; None: it says nothing.
    indexes: tuple[str, ...] = ()  #: Addresses of package indexes.
    conda: tuple[str, ...] = ()  #: Packages of conda, as match specifications, and the channels that they come from.
    channels: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)  #: Environment variables.


def joined(sources: Iterable[Source]) -> Source:
    """Return what several files ask for together."""
    found = list(sources)
    pythons = list(dict.fromkeys(one.python for one in found if one.python))
    return Source(
        requirements=tuple(one for source in found for one in source.requirements),
        constraints=tuple(one for source in found for one in source.constraints),
        python=",".join(pythons) or None,
        indexes=tuple(dict.fromkeys(one for source in found for one in source.indexes)),
        conda=tuple(one for source in found for one in source.conda),
        channels=tuple(dict.fromkeys(one for source in found for one in source.channels)),
        variables={name: value for source in found for name, value in source.variables.items()},
    )


#: Byte order marks, as pip knows them: what PowerShell's `>` writes is UTF-16. The longer ones come first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip


def beside(path: Path, value: str, option: str) -> Path:
    """Return the path of a file that another one, or the command line, names. Raises Wrong for an address.

    Args:
        path: The folder that it is relative to.
        value: What is named.
        option: The option that names it, for a message.
    """
    if "://" in value:
        raise Wrong(
            f"{option}: {quoted(value, 200)} is an address, and what is there may change; download the file, and name"
            " it here"
        )
    return path / value


def text_of(path: Path) -> str:
    """Return the text of a file. Raises Wrong, with a remedy, where it cannot be read."""
    try:
        data = path.read_bytes()
        return data.decode(next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8"))
    except FileNotFoundError:
        raise Wrong(f"{path}: there is no such file; -r names the file relative to {Path.cwd()}") from None
    except IsADirectoryError:
        raise Wrong(f"{path}: is a folder; name the file in it, such as {path / 'requirements.txt'}") from None
    except UnicodeDecodeError as error:
        raise Wrong(f"{path}, byte {error.start}: is not {error.encoding.upper()}; save the file as UTF-8") from None
    except OSError as error:
        raise Wrong(f"{path}: cannot be read: {error.strerror}; check its path and its rights") from None


def line_of(text: str, what: str) -> int:
    """Return the number of the first line that begins with some text, else holds it, else 1.

    Parsers of TOML keep no line numbers.
    """
    lines = list(enumerate(text.splitlines(), 1))
    begin = next((number for number, line in lines if what and line.lstrip().startswith(what)), None)
    return begin or next((number for number, line in lines if what and what in line), 1)


#: What a shape of a file's values is checked as, and how a message names that.
_KINDS: Mapping[type, tuple[type, str]] = {dict: (dict, "a table"), list: (list, "a list")}


def check_shape(path: Path, value: Any, shape: Any, where: str = "") -> None:
    """Check the types of the values of a file, so that later code can rely on them. Values may be missing.

    Args:
        path: The file, for messages.
        value: What it holds.
        shape: A type; or a list with the shape of each item; or a dict with the shapes of values by key.
        where: The place of the value in the file, such as `packages[2].wheels`.

    Raises:
        Wrong: A value is of another type; the message names it.
    """
    kind, word = _KINDS.get(type(shape), (shape, "a text"))
    if not isinstance(value, kind):
        raise Wrong(f"{path}: {where}: is not {word}; write the file again with the tool that made it")
    if isinstance(shape, dict):
        for key, inner in shape.items():
            if key in value:
                check_shape(path, value[key], inner, f"{where}.{key}" if where else key)
    elif isinstance(shape, list):
        for number, one in enumerate(value):
            check_shape(path, one, shape[0], f"{where}[{number}]")
