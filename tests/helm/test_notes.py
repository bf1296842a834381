"""What the chart says after an installation can be typed as it stands."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from hai_client.cli.app import find
from hai_client.cli.shared.parser import build
from kit.helm.rendering import CHART

Run = Callable[..., subprocess.CompletedProcess[str]]


def notes(run_helm: Run, values: dict[str, Any] | None = None) -> list[str]:
    words = ("install", "lab", str(CHART), "--namespace", "platform", "--dry-run=client")
    result = run_helm(*words, values=values)
    assert result.returncode == 0, result.stderr
    return [line.strip() for line in result.stdout.partition("NOTES:\n")[2].splitlines()]


def commands(lines: list[str], program: str) -> list[list[str]]:
    return [shlex.split(line, comments=True) for line in lines if line.startswith(f"{program} ")]


def test_every_hai_command_is_one_that_the_command_takes(run_helm: Run) -> None:
    given = commands(notes(run_helm), "hai")
    assert [words[1] for words in given] == ["login", "submit", "logs", "admin"]
    for words in given:
        found = find(words[1])
        assert found is not None
        build(found).parse_args(words[2:])
    assert "--cwd" in given[1], "the folder in which the user types it does not exist in the pod"


@pytest.mark.parametrize(
    ("quota", "said"),
    [
        ({}, "each user may hold 4 nodes at NORMAL"),
        ({"defaultQuota": 0}, "nobody may hold a node until an admin says so"),
        ({"config": {"HaiScheduler": {"default_quota": "all"}}}, None),
    ],
    ids=["the default", "nothing", "written elsewhere"],
)
def test_what_users_may_hold_is_said(run_helm: Run, quota: dict[str, Any], said: str | None) -> None:
    text = " ".join(notes(run_helm, {"scheduler": quota}))
    assert ("QUOTA" in text) is (said is not None)
    assert said is None or said in text


def test_the_namespace_of_the_platform_alone_is_to_be_held_to_the_standard(run_helm: Run) -> None:
    (words,) = (words for words in commands(notes(run_helm), "kubectl") if words[1:3] == ["label", "namespace"])
    assert words[3] == "platform"
    assert len(words[4:]) == 6
    shared = notes(run_helm, {"workloads": {"namespace": "platform", "podSecurity": "privileged"}})
    assert not [words for words in commands(shared, "kubectl") if words[1:3] == ["label", "namespace"]]


@pytest.mark.parametrize(
    ("values", "service", "port", "address"),
    [
        ({}, "proxy-public", "80", "http://127.0.0.1:8000"),
        ({"hub": {"baseUrl": "/lab/"}}, "proxy-public", "80", "http://127.0.0.1:8000/lab"),
        ({"fullnameOverride": "x"}, "x-proxy-public", "80", "http://127.0.0.1:8000"),
        (
            {"proxy": {"https": {"enabled": True, "secret": {"name": "cert"}}}},
            "proxy-public",
            "443",
            "https://127.0.0.1:8000",
        ),
    ],
    ids=["plain", "below a path", "with a prefix", "https"],
)
def test_what_is_forwarded_is_what_one_logs_in_at(
    run_helm: Run, values: dict[str, Any], service: str, port: str, address: str
) -> None:
    lines = notes(run_helm, values)
    forward = next(words for words in commands(lines, "kubectl") if "port-forward" in words)
    assert forward == ["kubectl", "-n", "platform", "port-forward", f"service/{service}", f"8000:{port}"]
    assert commands(lines, "hai")[0] == ["hai", "login", "--url", address]
    assert f"{address}/" in lines


def test_behind_an_ingress_nothing_is_forwarded(run_helm: Run) -> None:
    host = "hai.example.org"
    ingress = {"enabled": True, "hosts": [host], "tls": [{"hosts": [host], "secretName": "x"}]}
    lines = notes(run_helm, {"ingress": ingress})
    assert not [words for words in commands(lines, "kubectl") if "port-forward" in words]
    assert commands(lines, "hai")[0] == ["hai", "login", "--url", "https://hai.example.org"]


def test_a_value_that_goes_away_is_named(run_helm: Run) -> None:
    assert not [line for line in notes(run_helm) if line.startswith("GOES AWAY")]
    (line,) = (line for line in notes(run_helm, {"singleuser": {"uid": 5000}}) if line.startswith("GOES AWAY"))
    assert "identity.uid" in line
