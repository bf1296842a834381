"""config.toml of a site: what uv is told, what goes before it, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.shared.errors import Wrong
from haienv.store import config
from haienv.store import site as sites
from haienv.store.site import Site

TEXT = """
indexes = ["https://pypi.example/simple"]
[packages]
Torch = "https://torch.example/whl"
[network]
certificates = "/etc/ssl/all.pem"
netrc = "/etc/haienv/netrc"
[python]
downloads = false
[conda]
alias = "https://conda.example"
[conda.channels]
defaults = "file:///data/main"
"""
NO_PIP = {"PIP_CONFIG_FILE": "/dev/null"}


def test_uv_is_told_what_the_site_has_set(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(TEXT)
    site = sites.read(tmp_path)
    assert site.packages == {"torch": "https://torch.example/whl"}
    told = site.variables({**NO_PIP, "HOME": "/h"}, Path("/volume/.python"))
    assert told == {
        **NO_PIP, "HOME": "/h", "UV_PYTHON_DOWNLOADS": "never", "UV_PYTHON_INSTALL_DIR": "/volume/.python",
        "UV_PYTHON_INSTALL_BIN": "0", "SSL_CERT_FILE": "/etc/ssl/all.pem", "NETRC": "/etc/haienv/netrc",
    }  # fmt: skip


def test_what_uv_is_told_goes_before_what_pip_is_told(tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://pip.example/simple\nextra-index-url =\n  https://a\n  https://b\n"
    )
    pip = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf")}
    told = Site().variables(pip, tmp_path)
    assert (told["UV_DEFAULT_INDEX"], told["UV_INDEX"]) == ("https://pip.example/simple", "https://a https://b")
    told = Site().variables({**pip, "UV_INDEX_URL": "https://own"}, tmp_path)
    assert "UV_DEFAULT_INDEX" not in told
    assert Site().variables({**pip, "PIP_INDEX_URL": "https://x"}, tmp_path)["UV_DEFAULT_INDEX"] == "https://x"


def test_a_change_of_the_other_settings_keeps_the_tables(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(TEXT)
    assert config.read(file) == {"indexes": ("https://pypi.example/simple",)}
    config.write(file, {"indexes": ("https://a.example", "https://b.example"), "proxy": ("http://p:1",)})
    assert config.read(file) == {"indexes": ("https://a.example", "https://b.example"), "proxy": ("http://p:1",)}
    assert sites.read(tmp_path).packages == {"torch": "https://torch.example/whl"}
    assert sites.read(tmp_path).channel("defaults") == "file:///data/main"


def test_without_a_file_the_settings_are_the_defaults(tmp_path: Path) -> None:
    assert sites.read(tmp_path) == Site()
    told = Site().variables(NO_PIP, Path("/p"))
    assert set(told) == {"PIP_CONFIG_FILE", "UV_PYTHON_INSTALL_DIR", "UV_PYTHON_INSTALL_BIN"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[packages", "is no TOML"),
        ("[index]\n", r"index: is not known; known are the tables \[packages\]"),
        ("[network]\nurl = 'x'\n", r"network.url: is not known; \[network\] has certificates"),
        ("[packages]\ntorch = 'pypi.example'\n", "packages.torch: .* is not an address"),
        ("[packages]\ntorch = 'https://a:secret@b/simple'\n", "packages.torch: .*password into ~/.netrc"),
        ("[python]\ndownloads = 'no'\n", "python.downloads: 'no' is neither true nor false"),
        ("[network]\nnetrc = 'netrc'\n", "network.netrc: 'netrc' is not the full path"),
        ("[conda.channels]\nmain = 3\n", "conda.channels.main: 3 is not a text"),
    ],
)
def test_what_is_wrong_is_named_and_no_secret_is_repeated(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(Wrong, match=rf"config.toml: {says}") as caught:
        sites.read(tmp_path)
    assert "secret" not in str(caught.value)


def test_channels_have_addresses() -> None:
    assert Site().channel("conda-forge") == "https://conda.anaconda.org/conda-forge"
    site = Site(channel_alias="https://c.example/", channels={"defaults": "file:///data/main"})
    assert site.channel("conda-forge") == "https://c.example/conda-forge"
    assert site.channel("defaults") == "file:///data/main"
    assert site.channel("file:///x") == "file:///x"
    with pytest.raises(Wrong, match="licence; write conda-forge"):
        Site().channel("defaults")
    with pytest.raises(Wrong, match="password"):
        Site().channel("https://a:secret@x/conda")
    with pytest.raises(Wrong, match="neither a name nor an address"):
        Site().channel("../x y")
