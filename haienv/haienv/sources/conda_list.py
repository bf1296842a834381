"""Lists of packages that `conda list --export` and `conda export --format requirements` write."""

from __future__ import annotations

import re
from pathlib import Path

from haienv.shared.errors import Wrong
from haienv.sources.source import Source, joined
from haienv.store.conda_spec import check_conda, platform_here
from haienv.store.spec import check_requirement

_HEADER = re.compile(r"(?m)^# \$ conda create .*--file <this file>")
#: `zlib=1.2.13=h4ab18f5_6`, which no requirement of pip can be.
_LINE = re.compile(r"(?m)^[\w.-]+=[^=\s]+=[^=\s]+\s*$")
_PLATFORM = re.compile(r"# platform: (\S+)")
#: What pip has installed into an environment of conda.
_PIP = re.compile(r"(?:pypi::)?([\w.-]+)==?([^=\s]+)=(?:pypi_\d+|<pip>)")
#: Such a list does not name channels, but for those of single packages.
CHANNEL = "conda-forge"


def is_one(text: str) -> bool:
    """Return whether a text is such a list."""
    return bool(_HEADER.search(text) or _LINE.search(text))


def read(path: Path, text: str) -> Source:
    """Read a list. Raises Wrong."""
    found = [_line(path, number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    return joined([*found, Source(channels=(CHANNEL,))])


def _line(path: Path, number: int, line: str) -> Source:
    platform = _PLATFORM.fullmatch(line)
    if platform and platform[1] != platform_here():
        raise Wrong(
            f"{path}, line {number}: platform: the list is for {platform[1]}, and this machine is {platform_here()};"
            " `conda env export --from-history` writes an environment.yml for every platform"
        )
    if not line or line.startswith("#"):
        return Source()
    pip = _PIP.fullmatch(line)
    try:
        if pip:
            return Source(requirements=(check_requirement(f"{pip[1]}=={pip[2]}"),))
        return Source(conda=(check_conda(line),))
    except Wrong as error:
        raise Wrong(f"{path}, line {number}: {error}") from None
