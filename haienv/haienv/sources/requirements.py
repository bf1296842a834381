"""Requirements files of pip: requirements, hashes, `-r`, `-c` and indexes. What would not be repeatable is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from haienv.shared.addresses import checked_index
from haienv.shared.errors import Wrong
from haienv.sources.source import Source, beside, joined, text_of
from haienv.store.spec import check_requirement

#: Options that say what is so anyway.
_NEEDLESS = ("--require-hashes", "--prefer-binary")
_REMEDIES = {
    "-f": "a folder of wheels is named by UV_FIND_LINKS, or for all by find_links in config.toml of the administrator",
    "--find-links": "a folder of wheels is named by UV_FIND_LINKS, or for all by find_links in config.toml of the"
    " administrator",
    "--pre": "ask for the version: name>=2.0rc1 admits pre-releases of this package",
    "--trusted-host": "the administrator names the certificates in config.toml",
    "--no-index": "UV_OFFLINE=1 keeps uv from using indexes",
}
_OPTION = re.compile(r"(-[a-zA-Z]|--[a-z-]+)(?:[ \t]*=[ \t]*|[ \t]+|(?<=^-[a-zA-Z]))?(.*)")


def read(path: Path) -> Source:
    """Read a requirements file and those that it names. Raises Wrong."""
    return _read(path, ())


def _read(path: Path, above: tuple[Path, ...]) -> Source:
    if path in above:
        chain = " names ".join(str(one) for one in [*above, path])
        raise Wrong(f"{path}: {chain}: a cycle; take one of the -r lines away")
    return joined(_checked(number, line, path, above) for number, line in lines(text_of(path)))


def read_line(text: str, path: Path) -> Source:
    """Read what stands in one line of a requirements file, or in an item of `pip:` of the file `path`. Raises Wrong."""
    return joined(_line(line, path, ()) for _, line in lines(text))


def _checked(number: int, line: str, path: Path, above: tuple[Path, ...]) -> Source:
    try:
        return _line(line, path, above)
    except Wrong as error:
        # A file that this one names has said its own line.
        raise error if names_a_line(error) else Wrong(f"{path}, line {number}: {error}") from None


def names_a_line(error: Wrong) -> bool:
    """Return whether an error says its file and line."""
    return re.match(r".+?, line \d+: ", str(error)) is not None


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the logical lines of a requirements file, without comments, with the number of the first line of each."""
    parts: list[str] = []
    began = 1
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if not parts:
            began = number
        bare = re.sub(r"(^|\s)#.*$", "", line).rstrip()
        parts.append(bare.removesuffix("\\"))
        if not bare.endswith("\\"):
            whole = " ".join(part.strip() for part in parts).strip()
            if whole:
                yield began, whole
            parts = []


def _line(line: str, path: Path, above: tuple[Path, ...]) -> Source:
    if not line.startswith("-"):
        return Source(requirements=(check_requirement(line),))
    found = _OPTION.fullmatch(line)
    option, value = (found[1], found[2].strip()) if found else (line.split()[0], "")
    if option in ("-e", "--editable"):
        check_requirement(line)
    if option in ("-r", "--requirement", "-c", "--constraint"):
        if not value:
            raise Wrong(f"{option}: no file is named; write for example {option} more.txt")
        named = _read(beside(path.parent, value, option), (*above, path))
        return named if option in ("-r", "--requirement") else Source(constraints=named.requirements)
    if option.lstrip("-") in ("i", "index-url", "extra-index-url"):
        return Source(indexes=(checked_index(value),))
    if option in _NEEDLESS:
        return Source()
    remedy = _REMEDIES.get(option, "take it away: requirements, -r, -c, -i and --extra-index-url are read")
    raise Wrong(f"{option}: this option is not supported here; {remedy}")
