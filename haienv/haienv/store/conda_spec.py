"""Match specifications of conda: which packages, as `environment.yml` and the lists that conda writes name them.

    [CHANNEL[/SUBDIR]::]NAME[ VERSION[ BUILD]] or NAME=VERSION[=BUILD], and then perhaps [KEY=VALUE, ...]

What a version and a build may be is rattler's to say, which solves. Here is what must be known before: the name, by
which one specification replaces another, and the channel, for which the site may have another address.
"""

from __future__ import annotations

import platform
import re
from typing import Callable, NamedTuple

from haienv.shared.errors import Wrong
from haienv.shared.masking import quoted

#: Names of platforms in channels, by what the kernel calls the machine.
PLATFORMS = {"x86_64": "linux-64", "aarch64": "linux-aarch64", "ppc64le": "linux-ppc64le"}
#: A package's name. Those of `_libgcc_mutex` and of virtual packages such as `__glibc` begin with an underscore.
_NAME = re.compile(r"_{0,2}[A-Za-z0-9][A-Za-z0-9._-]*")
_BRACKETS = re.compile(r"(?P<head>[^\[\]]*)(?:\[(?P<keys>[^\[\]]*)\])?")
#: What may stand behind a name: a version by an operator or by a space, or one in brackets of older files.
_REST = re.compile(r"\s*(?:$|[=<>!~(]|\s[^\s])")
_CHANNEL = re.compile(r"""(?:^|,)\s*channel\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s,"']+))\s*""")
_SUBDIR = re.compile(r"/(noarch|(?:linux|osx|win|emscripten|wasi|freebsd|zos)-[a-z0-9]+)$")
_REMEDY = "write for example numpy=2.1, numpy=2.1=py311h_0 or conda-forge::numpy"


class CondaSpec(NamedTuple):
    """The parts of a match specification."""

    channel: str  #: `conda-forge`, an address, or empty: any of the file's channels.
    subdir: str  #: `/linux-64`, or empty.
    name: str
    rest: str  #: What follows the name: version and build, and keys in brackets.

    def at(self, address: Callable[[str], str]) -> str:
        """Return the specification with the address of its channel, which `address` knows."""
        place = f"{address(self.channel)}{self.subdir}::" if self.channel else ""
        return f"{place}{self.name}{self.rest}"


def check_conda(text: str) -> str:
    """Return a match specification of conda, such as `numpy=2.1` or `conda-forge::numpy >=2`. Raises Wrong."""
    parts(text)
    return text.strip()


def parts(text: str) -> CondaSpec:
    """Return the parts of a match specification. Raises Wrong."""
    found = _BRACKETS.fullmatch(text.strip())
    if found is None or re.search(r"[\n\r\0]", text):
        raise _wrong(text)
    channel, _, spec = found["head"].strip().rpartition("::")
    if "://" in spec:
        raise Wrong(
            f"conda: {quoted(text)} is the address of a file for one platform; write the package's name and version,"
            " such as zlib=1.2.13, and its channel below `channels:`"
        )
    keys = found["keys"]
    named = _CHANNEL.search(keys) if keys else None
    if named and keys is not None:
        channel = channel or named[1] or named[2] or named[3]
        keys = _CHANNEL.sub("", keys, count=1).strip(" ,")
    subdir = _SUBDIR.search(channel)
    name = _NAME.match(spec)
    if name is None or not _REST.match(spec[name.end() :]) or re.search(r"['\";]", spec):
        raise _wrong(text)
    # `numpy=` is any version, as `numpy` is.
    rest = re.sub(r"(?<![=<>!~])=\s*$", "", spec[name.end() :].rstrip()) + (f"[{keys}]" if keys else "")
    return CondaSpec(channel.removesuffix(subdir[0]) if subdir else channel, subdir[0] if subdir else "", name[0], rest)


def name_of(text: str) -> str:
    """Return the package of a match specification that was checked. `-`, `_` and `.` are different there."""
    return parts(text).name.lower()


def _wrong(text: str) -> Wrong:
    return Wrong(f"conda: {quoted(text)} is not a package of conda; {_REMEDY}")


def platform_here() -> str:
    """Return the platform of this machine as channels name it. Raises Wrong."""
    found = PLATFORMS.get(platform.machine())
    if found is None:
        raise Wrong(f"conda: there are no channels for machines of {platform.machine()}; use pip's packages")
    return found
