"""Settings of builds: where packages come from, and how files are laid. An admin's file, and each user's own.

`ROOT/config.toml` is for all who build below a root, `~/.config/haienv/config.toml` for one user, and counts first.
What a shell sets for uv itself (`UV_DEFAULT_INDEX`, ...) counts before both. Needs Python 3.11 to read a file that is
there.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Mapping, Tuple

from haienv.shared.addresses import checked_index
from haienv.shared.errors import Damaged, Wrong
from haienv.shared.files import write_atomically
from haienv.shared.masking import quoted

FILE = "config.toml"
LINK_MODES = ("hardlink", "clone", "symlink", "copy")
#: The settings: what they are for, and whether one has several values.
SETTINGS: Mapping[str, tuple[str, bool]] = {
    "indexes": ("package indexes, the one to look into first at the front", True),
    "find_links": ("folders or pages with wheels", True),
    "proxy": ("the proxy for http and https", False),
    "no_proxy": ("hosts that are reached without the proxy", True),
    "cache": ("the folder of uv's cache: one of your own, on the file system of the environments", False),
    "link_mode": (f"how files come from the cache: {', '.join(LINK_MODES)}", False),
    "python_mirror": ("where uv fetches Pythons from", False),
}
_HOST = re.compile(r"[A-Za-z0-9.*_:\[\]/-]+")

Config = Mapping[str, Tuple[str, ...]]


def own_file(environ: Mapping[str, str]) -> Path:
    """Return the user's own file, which may not exist."""
    home = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", "/"), ".config")
    return Path(home) / "haienv" / FILE


def root_file(root: Path) -> Path:
    """Return the file for all below a root, which may not exist."""
    return root / FILE


def check(name: str, value: str) -> str:
    """Return a value of a setting. Raises Wrong."""
    if name not in SETTINGS:
        raise Wrong(f"config: {quoted(name, 40)} is not known; known are {', '.join(SETTINGS)}")
    if name in ("indexes", "proxy", "python_mirror"):
        return checked_index(value, name)
    if name == "find_links":
        return checked_index(value, name) if "://" in value else _folder(name, value)
    if name == "cache":
        return _cache(value)
    if name == "link_mode" and value not in LINK_MODES:
        raise Wrong(f"link_mode: {quoted(value, 40)} is not one of {', '.join(LINK_MODES)}")
    if name == "no_proxy" and not _HOST.fullmatch(value):
        raise Wrong(f"no_proxy: {quoted(value)} is no host; write for example .example.org")
    return value


def _folder(name: str, value: str) -> str:
    if not os.path.isabs(value) or "\0" in value or "\n" in value:
        raise Wrong(f"{name}: {quoted(value)} is no absolute path of a folder")
    return os.path.normpath(value)


def _cache(value: str) -> str:
    path = _folder("cache", value)
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return path
    if mode & 0o022:
        raise Wrong(
            f"cache: others can write {path}, and who writes a cache writes the environments made from it;"
            " choose a folder"
            " that only you can write, or: chmod go-w"
        )
    return path


def read(path: Path) -> Config:
    """Read a file of settings; empty if there is none. Raises Damaged."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise Damaged(f"{path}: cannot be read: {error}") from None
    try:
        import tomllib
    except ImportError:
        raise Damaged(f"{path}: building environments needs Python 3.11 or newer") from None
    try:
        # Tables are what only the administrator sets: `haienv.store.site`.
        return _checked({name: one for name, one in tomllib.loads(text).items() if not isinstance(one, dict)})
    except (tomllib.TOMLDecodeError, Wrong) as error:
        raise Damaged(f"{path}: {error}") from None


def _checked(data: Mapping[str, Any]) -> Config:
    found = {}
    for name, value in data.items():
        values = value if isinstance(value, list) else [value]
        if name in SETTINGS and (isinstance(value, list) != SETTINGS[name][1]):
            raise Wrong(f"{name}: {value!r} is not {'a list' if SETTINGS[name][1] else 'a text'}")
        if not all(isinstance(one, str) for one in values):
            raise Wrong(f"{name}: {value!r} is not {'a list of texts' if isinstance(value, list) else 'a text'}")
        found[name] = tuple(check(name, one) for one in values)
    return found


def write(path: Path, config: Config) -> None:
    """Write a file of settings, whole or not at all. Raises OSError."""
    lines = ["# Settings of haienv: `haienv config show` explains them.\n"]
    for name, values in sorted(config.items()):
        if values:
            data = list(values) if SETTINGS[name][1] else values[0]
            lines.append(f"{name} = {json.dumps(data, ensure_ascii=False)}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(lines) + _tables(path))


def _tables(path: Path) -> str:
    """Return the tables of a file as they are: in TOML they come after all other settings."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    found = re.search(r"(?m)^\s*\[[A-Za-z\[]", text)
    return "" if found is None else f"\n{text[found.start() :].lstrip()}"


def merged(root: Path, environ: Mapping[str, str]) -> Config:
    """Return the settings for a user below a root: the user's own before the root's. Raises Damaged."""
    return {**read(root_file(root)), **read(own_file(environ))}


def applied(config: Config, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for uv. What a shell has set for uv stays."""
    indexes = config.get("indexes", ())
    proxy = config.get("proxy", ("",))[0]
    wanted = {
        "UV_DEFAULT_INDEX": indexes[-1] if indexes else "",
        "UV_INDEX": " ".join(indexes[:-1]),
        "UV_FIND_LINKS": ",".join(config.get("find_links", ())),
        "HTTPS_PROXY": proxy,
        "HTTP_PROXY": proxy,
        "NO_PROXY": ",".join(config.get("no_proxy", ())),
        "UV_CACHE_DIR": config.get("cache", ("",))[0],
        "UV_LINK_MODE": config.get("link_mode", ("hardlink",))[0],
        "UV_PYTHON_INSTALL_MIRROR": config.get("python_mirror", ("",))[0],
    }
    return {**{name: value for name, value in wanted.items() if value}, **environ}
