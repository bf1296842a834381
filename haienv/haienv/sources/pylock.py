"""pylock.toml, the lock file of PEP 751: exact versions, with hashes, for several platforms."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from haienv.shared.errors import Wrong
from haienv.sources.source import Source, check_shape, line_of
from haienv.store.spec import check_requirement, normal

#: Conditions that hold for no Python, and for every one.
_NEVER, _ALWAYS = "python_version < '0'", "python_version >= '0'"
_CHOSEN = re.compile(r"(['\"])([^'\"]+)\1\s+(not\s+)?in\s+(extras|dependency_groups)")
_PLATFORM = re.compile(r"(sys_platform|platform_machine|os_name|platform_system)\s*==\s*['\"]([^'\"]*)['\"]")
_FILE = {"url": str, "hashes": {"sha256": str}}
_SHAPE = {
    "extras": [str],
    "default-groups": [str],
    "requires-python": str,
    "packages": [{"name": str, "wheels": [_FILE], "sdist": _FILE, "archive": _FILE}],
}
#: The host of PyPI, which the site may have another index for.
PYPI = ".".join(("pypi", "org"))


def read(path: Path, text: str, data: Mapping[str, Any], extras: Sequence[str]) -> Source:
    """Return the packages of a lock as requirements with versions and hashes.

    Args:
        path: The file, for messages.
        text: Its text.
        data: What it holds.
        extras: The extras that are wanted.

    Raises:
        Wrong: It is of another version, or has a package that comes from a folder or a repository.
    """
    version = data.get("lock-version")
    if not isinstance(version, str) or version.partition(".")[0] != "1":
        raise Wrong(
            f"{path}, line {line_of(text, 'lock-version')}: lock-version: {version!r} is not 1.0, which is read"
        )
    packages = data.get("packages")
    if not isinstance(packages, list) or not packages:
        raise Wrong(f"{path}: packages: is empty; write the lock again, for example with `uv export -o pylock.toml`")
    check_shape(path, data, _SHAPE)
    known = [normal(one) for one in data.get("extras", ())]
    for extra in extras:
        if normal(extra) not in known:
            raise Wrong(f"extra: {path} has no extra {extra!r}; it has {', '.join(known) or 'none'}")
    groups = frozenset(normal(one) for one in data.get("default-groups", ()))
    _refuse_other_platform(path, text, data.get("environments"))
    chosen = frozenset(normal(one) for one in extras)
    wanted = [_package(path, text, one, chosen, groups) for one in packages]
    indexes = dict.fromkeys(str(one["index"]) for one in packages if one.get("index"))
    return Source(
        requirements=tuple(wanted),
        python=data.get("requires-python"),
        indexes=tuple(one for one in indexes if is_other(one)),
    )


def _refuse_other_platform(path: Path, text: str, environments: Any) -> None:
    """Raise Wrong for a lock that is for other platforms than this one: here it would be empty."""
    given = environments if isinstance(environments, list) else []
    if given and all(isinstance(one, str) and _is_elsewhere(one) for one in given):
        raise Wrong(
            f"{path}, line {line_of(text, 'environments')}: environments: it is for {given[0]}, and this machine is"
            f" {sys.platform} on {platform.machine()}; write the lock for this one, for example with `uv pip compile"
            " --format pylock.toml`"
        )


def _is_elsewhere(marker: str) -> bool:
    """Return whether a marker names another platform. One that says more than usual is taken to mean this one."""
    here = {
        "sys_platform": sys.platform, "platform_machine": platform.machine(), "os_name": os.name,
        "platform_system": platform.system(),
    }  # fmt: skip
    return all(
        any(value not in ("", here[name]) for name, value in _PLATFORM.findall(alternative))
        for alternative in re.split(r"\s+or\s+", marker)
    )


def is_other(index: str) -> bool:
    """Return whether an index is a server other than PyPI, whose packages a site may have a mirror of."""
    parts = urlsplit(index)
    return parts.scheme in ("http", "https") and parts.hostname != PYPI and parts.username is None


def _package(
    path: Path, text: str, one: Mapping[str, Any], extras: frozenset[str], groups: frozenset[str]
) -> str:  # fmt: skip
    name = one.get("name")
    where = f"{path}, line {line_of(text, f'name = {chr(34)}{name}{chr(34)}')}: packages: {name}"
    for kind, why in (("directory", "a folder"), ("vcs", "a repository")):
        if kind in one:
            raise Wrong(
                f"{where}: comes from {why}, which can change under a task and has no hash; publish a wheel of it to"
                " an index, or leave the project itself out of the lock (`uv export --no-emit-project`)"
            )
    if not isinstance(name, str):
        raise Wrong(f"{where}: packages.name: is missing")
    files = [*one.get("wheels", ()), *([one["sdist"]] if "sdist" in one else ())]
    archive = one.get("archive")
    if archive is not None:
        files, pin = [archive], f"{name} @ {archive.get('url')}"
    elif isinstance(one.get("version"), str):
        pin = f"{name}=={one['version']}"
    else:
        raise Wrong(f"{where}: packages.version: is missing; write the lock again with exact versions")
    hashes = [f"--hash=sha256:{file['hashes']['sha256']}" for file in files if file.get("hashes", {}).get("sha256")]
    if not hashes:
        raise Wrong(f"{where}: has no file with a sha256, so nobody could check what is installed; write it again")
    marker = _marker(str(one.get("marker", "")), extras, groups)
    try:
        return check_requirement(" ".join([pin + (f" ; {marker}" if marker else ""), *hashes]))
    except Wrong as error:
        raise Wrong(f"{where}: {error}") from None


def _marker(marker: str, extras: frozenset[str], groups: frozenset[str]) -> str:
    """Return a marker with the conditions on extras and groups decided: only lock files know these."""

    def decided(found: re.Match[str]) -> str:
        among = normal(found[2]) in (extras if found[4] == "extras" else groups)
        return _ALWAYS if among != bool(found[3]) else _NEVER

    return _CHOSEN.sub(decided, marker)
