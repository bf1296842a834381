"""Settings of builds: what is wrong is refused by name, and no secret is repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.shared.errors import Damaged, Wrong
from haienv.store import config


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("indexes", "pypi.example.org"), ("indexes", "ftp://x/simple"),
        ("indexes", "https://"), ("indexes", "https://a b/"),
        ("proxy", "squid:3128"), ("cache", "relative"), ("link_mode", "magic"), ("no_proxy", "a b"),
        ("find_links", "./x"), ("indices", "https://pypi.example.org"), ("indexes", "https://[x/"),
    ],
)  # fmt: skip
def test_a_value_that_is_none_is_refused(name: str, value: str) -> None:
    with pytest.raises(Wrong) as caught:
        config.check(name, value)
    assert str(caught.value).startswith(("config: 'indices'", f"{name}: "))


@pytest.mark.parametrize(
    "value", ["https://ann:hunter2@pypi.example.org/simple", "https://hunter2@pypi.example.org/", "http://:hunter2@x"]
)
@pytest.mark.parametrize("name", ["indexes", "proxy", "python_mirror", "find_links"])
def test_a_secret_in_an_address_is_refused_and_not_repeated(name: str, value: str) -> None:
    with pytest.raises(Wrong, match=r"netrc") as caught:
        config.check(name, value)
    assert "hunter2" not in str(caught.value)


def test_a_cache_that_others_can_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(Wrong, match="others can write"):
        config.check("cache", str(tmp_path))
    tmp_path.chmod(0o755)
    assert config.check("cache", str(tmp_path)) == str(tmp_path)


def test_what_is_written_is_read_and_the_users_own_counts_first(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "home")}
    root = tmp_path / "root"
    config.write(
        config.root_file(root), {"indexes": ("https://a/simple", "https://b/simple"), "proxy": ("http://p:1",)}
    )
    config.write(config.own_file(environ), {"proxy": ("http://own:1",), "no_proxy": (".x",)})
    found = config.merged(root, environ)
    assert found == {
        "indexes": ("https://a/simple", "https://b/simple"),
        "proxy": ("http://own:1",),
        "no_proxy": (".x",),
    }
    applied = config.applied(found, {"UV_INDEX": "https://mine/simple"})
    assert applied["UV_DEFAULT_INDEX"] == "https://b/simple"
    assert applied["UV_INDEX"] == "https://mine/simple", "what the shell says stays"
    assert (applied["HTTPS_PROXY"], applied["NO_PROXY"], applied["UV_LINK_MODE"]) == ("http://own:1", ".x", "hardlink")


@pytest.mark.parametrize(
    "text", ["indexes = 'https://a'", "proxy = ['http://a']", "indexes = [3]", "x = 1", "link_mode = 'x'", "indexes ="]
)
def test_a_wrong_file_is_refused_with_its_path(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(Damaged, match=str(path)):
        config.read(path)
