"""The variables of proxies and authorities."""

from __future__ import annotations

from urllib.request import getproxies_environment, proxy_bypass_environment

import pytest

from hai_client.outbound import authorities_volume, authority_variables, completed, host_of, paired, proxy_variables

PROXY = "http://proxy.example.org:3128"


def test_a_proxy_is_named_in_both_cases_and_never_for_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    found = proxy_variables(PROXY, ["hub.platform.svc", "10.96.0.7", ".intern.example"])
    assert {name: value for name, value in found.items() if "no_" not in name.lower()} == dict.fromkeys(
        ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"), PROXY
    )
    assert found["NO_PROXY"] == found["no_proxy"]
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    assert getproxies_environment()["https"] == PROXY
    for host in (
        "hub.platform.svc", "rank-0.run-7.work.svc", "x.svc.cluster.local", "10.96.0.7", "localhost", "169.254.169.254",
        "a.intern.example",
    ):  # fmt: skip
        assert proxy_bypass_environment(host), host
    assert not proxy_bypass_environment("files.example")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"HTTPS_PROXY": "a"}, {"HTTPS_PROXY": "a", "https_proxy": "a"}),
        ({"no_proxy": "a"}, {"NO_PROXY": "a", "no_proxy": "a"}),
        ({"no_proxy": "a", "NO_PROXY": "b"}, {"no_proxy": "a", "NO_PROXY": "b"}),
        ({"LR": "1"}, {"LR": "1"}),
        ({"https_proxy": ""}, {"https_proxy": "", "HTTPS_PROXY": ""}),
    ],
)
def test_one_case_changes_the_other(given: dict[str, str], found: dict[str, str]) -> None:
    assert paired(given) == found


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ({}, None),
        ({"NO_PROXY": "a"}, None),
        ({"https_proxy": ""}, None),
        ({"https_proxy": "p"}, "hub,10.0.0.1"),
        ({"ALL_PROXY": "p"}, "hub,10.0.0.1"),
        ({"HTTP_PROXY": "p", "NO_PROXY": "a, hub  b", "no_proxy": "a, hub  b"}, "a,hub,b,10.0.0.1"),
    ],
)
def test_where_there_is_a_proxy_what_it_may_not_see_is_added(env: dict[str, str], found: str | None) -> None:
    changed = completed(env, ["hub", "10.0.0.1", ""])
    assert changed == ({} if found is None else {"NO_PROXY": found, "no_proxy": found})


def test_all_is_all() -> None:
    env = {"HTTPS_PROXY": "p", "NO_PROXY": "*", "no_proxy": "*"}
    assert completed(env, ["hub"]) == {}


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://hub.platform.svc:8082/services/hai", "hub.platform.svc"),
        ("https://10.0.0.1/x", "10.0.0.1"),
        ("http://[fd00::1]:8082/", "fd00::1"),
        ("http://u:p@host:1", "host"),
        ("", ""),
        ("hub", ""),
    ],
)
def test_the_host_of_a_url(url: str, host: str) -> None:
    assert host_of(url) == host


def test_the_file_of_authorities_comes_from_one_of_the_two() -> None:
    items = [{"key": "bundle.pem", "path": "ca.crt"}]
    assert authorities_volume("ours", "", "bundle.pem") == {"configMap": {"name": "ours", "items": items}}
    secret = {"secretName": "ours", "defaultMode": 0o444, "items": items}
    assert authorities_volume("", "ours", "bundle.pem") == {"secret": secret}
    assert authorities_volume("", "", "ca.crt") == {}
    assert set(authority_variables().values()) == {"/etc/hai/authorities/ca.crt"}
