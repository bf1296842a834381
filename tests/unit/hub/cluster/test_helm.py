"""Helm and kubectl are run as programs; their errors become one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hai_client.errors import HaiError, Invalid
from hai_hub.cluster.chart import Chart
from hai_hub.cluster.command import command
from hai_hub.cluster.helm import Release


def test_a_missing_helm_is_said_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("hai_hub.cluster.helm.sys.executable", str(tmp_path / "python"))
    with pytest.raises(Invalid, match="helm is not on PATH: install Helm"):
        command(["up"])


def test_the_words_of_helm_are_in_the_error(calls: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "helm").write_text('#!/bin/sh\necho "Error: connection refused" >&2\nexit 1\n')
    with pytest.raises(HaiError, match=r"helm upgrade: connection refused; look at: kubectl -n hai get pods"):
        command(["up"])


RELEASE = Release(name="hai", namespace="lab")
NOT_OURS = (
    'Error: Unable to continue with install: {} in namespace "{}" exists and cannot be imported into the current '
    'release: invalid ownership metadata; label validation error: missing key "app.kubernetes.io/managed-by"'
)


@pytest.mark.parametrize(
    ("what", "where", "said"),
    [
        ('Namespace "lab-work"', "", r"workloads.create: the namespace lab-work is there already.*create: false"),
        ('ServiceAccount "hub"', "lab", r"ServiceAccount hub is there already.*fullnameOverride"),
    ],
)
@pytest.mark.parametrize("verb", ["up", "dry-run"])
def test_what_is_there_and_not_ours_is_named_with_the_remedy(
    calls: Path, what: str, where: str, said: str, verb: str
) -> None:
    says(calls, "helm", f"cat >&2 <<'END'\n{NOT_OURS.format(what, where)}\nEND\nexit 1")
    with pytest.raises(Invalid, match=said) as raised:
        command([verb])
    assert "ownership metadata" not in raised.value.message


@pytest.mark.parametrize(
    ("history", "command"),
    [
        (["superseded", "deployed", "pending-upgrade"], "helm rollback hai 2 --wait --timeout 10m --namespace lab"),
        (
            ["deployed", "failed", "failed", "pending-upgrade"],
            "helm rollback hai 1 --wait --timeout 10m --namespace lab",
        ),
        (["superseded", "superseded", "failed"], "helm rollback hai 2 --wait --timeout 10m --namespace lab"),
        (["pending-install"], "helm uninstall hai --namespace lab"),
    ],
    ids=["an upgrade", "failures before it", "a rollback that failed", "an installation"],
)
def test_a_helm_that_was_interrupted_is_named_with_the_remedy(calls: Path, history: list[str], command: str) -> None:
    revisions = json.dumps([{"revision": number, "status": status} for number, status in enumerate(history, 1)])
    locked = "Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress"
    says(calls, "helm", f"[ $1 = upgrade ] || {{ echo '{revisions}'; exit; }}; echo '{locked}' >&2; exit 1")
    with pytest.raises(Invalid, match=f"another helm works on hai, or was interrupted.* `{command}`, then try again"):
        RELEASE.install(Chart(calls.parent), [], wait="10m")


def called(calls: Path) -> list[str]:
    return calls.read_text().splitlines()


def says(calls: Path, program: str, code: str) -> None:
    """Let a shell script stand for the program."""
    calls.with_name("bin").joinpath(program).write_text(f"#!/bin/sh\n{code}\n")


@pytest.mark.parametrize(
    ("context", "helm", "kubectl"),
    [
        (None, "helm list --namespace lab", "kubectl -n lab get pods"),
        ("gpu", "helm list --namespace lab --kube-context gpu", "kubectl --context gpu -n lab get pods"),
    ],
    ids=["the current context", "another"],
)
def test_each_call_names_namespace_and_context(calls: Path, context: str | None, helm: str, kubectl: str) -> None:
    release = replace(RELEASE, context=context)
    release.helm("list")
    release.kubectl("get", "pods")
    assert called(calls) == [helm, kubectl]


def test_kubectl_may_be_asked_about_another_namespace(calls: Path) -> None:
    RELEASE.kubectl("get", "pods", namespace="work")
    assert called(calls) == ["kubectl -n work get pods"]


@pytest.mark.parametrize("word", ["Error: release: not found", 'Error: "hai" has no deployed releases'])
def test_where_nothing_is_installed_there_is_no_manifest(calls: Path, word: str) -> None:
    says(calls, "helm", f"echo '{word}' >&2; exit 1")
    assert RELEASE.manifest() is None


def test_a_cluster_that_does_not_answer_is_not_one_without_a_release(calls: Path) -> None:
    says(calls, "helm", "echo 'Error: Kubernetes cluster unreachable: dial tcp' >&2; exit 1")
    with pytest.raises(HaiError, match="helm get: Kubernetes cluster unreachable"):
        RELEASE.manifest()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("echo 'Error: one' >&2; echo '  two' >&2; exit 1", "kubectl -n: one two"),
        ("exit 7", "kubectl -n: status 7"),
        ("echo out; exit 1", "kubectl -n: status 1"),
    ],
    ids=["lines", "silent", "stdout alone"],
)
def test_an_error_is_one_line(calls: Path, code: str, said: str) -> None:
    says(calls, "kubectl", code)
    with pytest.raises(HaiError) as error:
        RELEASE.kubectl("get", "pods")
    assert error.value.message == said


def test_a_long_error_is_cut(calls: Path) -> None:
    says(calls, "helm", "head -c 9000 /dev/zero | tr '\\0' x >&2; exit 1")
    with pytest.raises(HaiError) as error:
        RELEASE.notes()
    assert len(error.value.message) < 2100


def test_values_of_the_last_installation_hold_unless_files_change_them(calls: Path, tmp_path: Path) -> None:
    chart = Chart(tmp_path)
    calls.with_name("calls.rendered").write_text(json.dumps({"manifest": "kind: ConfigMap"}))
    assert RELEASE.rendered(chart, ["a.yaml", "b.yaml"]) == "kind: ConfigMap"
    RELEASE.install(chart, ["a.yaml"], wait="5m")
    rendered, installed = called(calls)
    for line in (rendered, installed):
        assert line.startswith(f"helm upgrade hai {tmp_path} --install ")
        assert "--reset-then-reuse-values" in line
    assert "--dry-run=server" in rendered
    assert rendered.endswith("--values a.yaml --values b.yaml --namespace lab")
    assert "--dry-run" not in installed
    assert "--wait --timeout 5m" in installed
    assert installed.endswith("--values a.yaml --namespace lab")


@pytest.mark.parametrize(
    ("values", "namespace"),
    [("workloads: {namespace: train}", "train"), ("workloads: {namespace: ''}", "lab-work"), ("", "lab-work")],
    ids=["named", "empty", "no values"],
)
def test_runs_are_in_the_namespace_of_the_values_or_beside_the_platforms(
    calls: Path, values: str, namespace: str
) -> None:
    says(calls, "helm", f'echo "{values}"')
    assert RELEASE.workloads() == namespace


@pytest.mark.parametrize(("override", "pod"), [("", "hub"), ("fullnameOverride: team", "team-hub")])
def test_the_scheduler_is_asked_from_the_hubs_pod(calls: Path, override: str, pod: str) -> None:
    says(calls, "helm", f'echo "{override}"')
    RELEASE.until_scheduler_answers(within=0)
    assert called(calls)[0].startswith(f"kubectl -n lab exec deployment/{pod} -c hub -- python -c")


def test_it_is_asked_once_even_without_time(calls: Path, deaf: Callable[[int], list[float]]) -> None:
    waited = deaf(1)
    with pytest.raises(HaiError, match="does not answer yet: kubectl -n: status 503: The state database"):
        RELEASE.until_scheduler_answers(within=0)
    assert waited == []


def test_without_kubectl_there_is_no_waiting(calls: Path, deaf: Callable[[int], list[float]]) -> None:
    waited = deaf(10**6)
    calls.with_name("bin").joinpath("kubectl").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hai_hub.cluster.helm.shutil.which", _without("kubectl", shutil.which))
        with pytest.raises(Invalid, match="kubectl is not on PATH: install kubectl"):
            RELEASE.until_scheduler_answers(within=60)
    assert waited == []


def _without(name: str, which: Callable[..., str | None]) -> Callable[..., str | None]:
    return lambda program, **more: None if program == name else which(program, **more)
