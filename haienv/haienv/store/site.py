"""What only an administrator sets, for all builds: the tables of `ROOT/config.toml`. Reading it needs Python 3.11.

The other settings of the file, such as `indexes`, are also a user's (`haienv.store.config`). Everybody can read the
file, so it holds no secret: passwords of indexes are in a netrc file, which it may name. What the variables of uv say
goes before the file, and the file before what pip is told by its variables or its pip.conf, which uv does not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomllib

from haienv.shared.addresses import checked_index
from haienv.shared.errors import Wrong
from haienv.shared.masking import quoted
from haienv.store.spec import normal

FILE = "config.toml"
#: The folder of an owner with the Pythons that uv has fetched: on the volume of the environments, so that every machine
#: that has these has their Python. No environment has such a name.
PYTHONS = ".python"


@dataclass(frozen=True, kw_only=True)
class Site:
    """The settings of a site."""

    #: The one index that a package comes from, by package in its normal form.
    packages: Mapping[str, str] = field(default_factory=dict)
    certificates: str | None = None  #: Files: the certificates to trust, and users and passwords of indexes.
    netrc: str | None = None
    python_downloads: bool = True  #: Whether uv may fetch Pythons.
    #: Channels of conda by name, and what stands before the names of others.
    channels: Mapping[str, str] = field(default_factory=dict)
    channel_alias: str | None = None

    def variables(self, environ: Mapping[str, str], pythons: Path) -> dict[str, str]:
        """Return the environment of uv.

        Args:
            environ: The caller's variables; what they say goes before the site's settings.
            pythons: The folder for Pythons that uv fetches.
        """
        own = {
            "UV_PYTHON_DOWNLOADS": None if self.python_downloads else "never",
            "UV_PYTHON_INSTALL_DIR": str(pythons),
            # An interpreter is used by its full path. Links in ~/.local/bin would be one user's alone.
            "UV_PYTHON_INSTALL_BIN": "0",
            "SSL_CERT_FILE": self.certificates,
            "NETRC": self.netrc,
        }
        found = of_pip(environ)
        for name, value in own.items():
            if value:
                found[name] = value
        for name in list(found):
            older = _OLDER.get(name, ())
            if any(environ.get(one) for one in (name, name.lower() if "PROXY" in name else name, *older)):
                del found[name]
        return {**environ, **found}

    def channel(self, text: str) -> str:
        """Return the address of a channel of conda. Raises Wrong."""
        if text in self.channels:
            return self.channels[text]
        if "://" in text:
            return checked_index(text, "channel")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]*", text):
            raise Wrong(f"channel: {quoted(text)} is neither a name nor an address; write conda-forge, or https://...")
        if text == "defaults" or text.startswith("pkgs/"):
            raise Wrong(
                f"channel: {text!r} is Anaconda's own, whose terms ask larger organizations for a licence; write"
                f" conda-forge, or let the administrator name an address for it in {FILE}: [conda.channels]"
            )
        return f"{(self.channel_alias or 'https://conda.anaconda.org').rstrip('/')}/{text}"


#: Older or shorter variables of uv for the same.
_OLDER = {
    "UV_DEFAULT_INDEX": ("UV_INDEX_URL", "UV_NO_INDEX"),
    "UV_INDEX": ("UV_EXTRA_INDEX_URL", "UV_NO_INDEX"),
    "HTTP_PROXY": ("ALL_PROXY", "all_proxy"),
    "HTTPS_PROXY": ("ALL_PROXY", "all_proxy"),
}
_PIP = {
    "index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE", "proxy": "HTTPS_PROXY",
}  # fmt: skip


def _of_files(files: Sequence[str]) -> dict[str, str]:
    # Imported here: most machines have no such file, and no build should wait for it.
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read(files, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError, OSError):
        # What pip itself could not read does not keep an environment from being built.
        return {}
    told: dict[str, str] = {}
    for section in ("global", "install"):
        if parser.has_section(section):
            told |= {name: value for name, value in parser.items(section) if name in _PIP}
    return told


def of_pip(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what pip is told by its variables and files, as variables of uv. It may hold secrets: never print it."""
    config = environ.get("PIP_CONFIG_FILE")
    home = environ.get("HOME", "/")
    files = [config] if config else [
        "/etc/pip.conf",
        os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "pip", "pip.conf"),
        os.path.join(home, ".pip", "pip.conf"),
    ]  # fmt: skip
    told: dict[str, str] = {}
    if config != os.devnull and any(os.path.exists(one) for one in files):
        told |= _of_files(files)
    for option in _PIP:
        value = environ.get(f"PIP_{option.upper().replace('-', '_')}")
        if value:
            told[option] = value
    return {_PIP[option]: " ".join(value.split()) for option, value in told.items() if value.strip()}


def read(root: Path) -> Site:
    """Read the settings of the environments below a root; without a file these are the defaults. Raises Wrong."""
    path = root / FILE
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Site()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Wrong(f"{path}: is no TOML: {error}; the administrator mends it") from None
    try:
        return checked(data)
    except Wrong as error:
        raise Wrong(f"{path}: {error}") from None


def checked(data: Mapping[str, Any]) -> Site:
    """Return the settings for the values of a config.toml. Raises Wrong."""
    values: dict[str, Any] = {}
    for table, content in data.items():
        if not isinstance(content, dict):
            # One of the settings of `haienv.store.config`.
            continue
        if table == "packages":
            values["packages"] = _by_package(table, content)
            continue
        if table not in _TABLES:
            known = ", ".join(f"[{one}]" for one in ("packages", *_TABLES))
            raise Wrong(f"{table}: is not known; known are the tables {known}")
        for name, value in content.items():
            if name not in _TABLES[table]:
                raise Wrong(f"{table}.{name}: is not known; [{table}] has {', '.join(_TABLES[table])}")
            target, check = _TABLES[table][name]
            found = check(f"{table}.{name}", value)
            values[target] = found
    return Site(**values)


Check = Callable[[str, Any], Any]


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value or "\n" in value or "\0" in value:
        raise Wrong(f"{name}: {value!r} is not a text")
    return value


def _address(name: str, value: Any) -> str:
    return checked_index(_text(name, value), name)


def _by_name(name: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise Wrong(f"{name}: {value!r} is not a table; write for example torch = 'https://pypi.example/simple'")
    return {one: _address(f"{name}.{one}", address) for one, address in value.items()}


def _by_package(name: str, value: Any) -> dict[str, str]:
    return {normal(one): address for one, address in _by_name(name, value).items()}


def _switch(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise Wrong(f"{name}: {value!r} is neither true nor false")
    return value


def _file(name: str, value: Any) -> str:
    if not _text(name, value).startswith("/"):
        raise Wrong(f"{name}: {value!r} is not the full path of a file; begin it with '/'")
    return str(value)


_TABLES: Mapping[str, Mapping[str, tuple[str, Check]]] = {
    "network": {"certificates": ("certificates", _file), "netrc": ("netrc", _file)},
    "python": {"downloads": ("python_downloads", _switch)},
    "conda": {"alias": ("channel_alias", _address), "channels": ("channels", _by_name)},
}
