"""From the chart of the last release: its values hold, and nothing has changed that a cluster does not let change."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hai_hub.cluster.chart import Chart
from hai_hub.cluster.chart_values import problems
from kit.helm.api_server import cluster
from kit.helm.matrix import MATRIX
from kit.helm.rendering import CHART, ON_SERVER, Object, Values, objects_of
from upgrade.conftest import checked_out

#: By kind, namespace and name.
Made = dict[tuple[str, ...], Any]
#: What may change of a StatefulSet; with another name all may.
_MAY_CHANGE = {"replicas", "template", "updateStrategy", "minReadySeconds", "persistentVolumeClaimRetentionPolicy"}


@pytest.fixture(scope="module")
def last(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checked_out(tmp_path_factory.mktemp("last-release") / "tree") / "helm" / "hai"


def fixed(entry: Object) -> Any:
    """The part of an object that the API server does not let anybody change."""
    spec = entry.get("spec", {})
    match entry["kind"]:
        case "StatefulSet":
            return {key: value for key, value in spec.items() if key not in _MAY_CHANGE}
        case "Deployment":
            return spec["selector"]
        case "Job":
            return spec
        case "PersistentVolume" | "PersistentVolumeClaim":
            return spec
        case "RoleBinding" | "ClusterRoleBinding":
            return entry["roleRef"]
    return None


def test_every_value_that_it_has_holds(last: Path) -> None:
    text = Chart(last).text
    assert problems(text, Chart(CHART).schema, file="values.yaml of the last release") == []


@pytest.fixture(scope="module")
def made(run_helm: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[[Path, Values], Made]:
    """What a chart makes of values: the fixed part of each object, by kind, namespace and name."""

    def rendered(chart: Path, values: Values) -> Made:
        # A chart that does not know a block yet is the one without it.
        known = yaml.safe_load((chart / "values.yaml").read_text())
        given = {name: value for name, value in values.items() if name in known}
        done = run_helm("template", "hai", str(chart), "--namespace", "platform", values=given)
        assert done.returncode == 0, done.stderr
        entries = [(entry, entry["metadata"]) for entry in objects_of(done.stdout)]
        return {(one["kind"], of.get("namespace", ""), of["name"]): fixed(one) for one, of in entries}

    return rendered


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
def test_no_cluster_refuses_the_upgrade(made: Callable[[Path, Values], Made], last: Path, values: Values) -> None:
    before, after = made(last, values), made(CHART, values)
    kept = before.keys() & after.keys()
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    # They are found again under the same name, or what they hold is lost.
    assert [
        key for key in before.keys() - after.keys() if key[0].startswith(("Persistent", "Stateful", "Secret"))
    ] == []


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
def test_no_cluster_refuses_another_version_with_the_same_images(
    made: Callable[[Path, Values], Made], tmp_path: Path, values: Values
) -> None:
    next_one = shutil.copytree(CHART, tmp_path / "hai")
    text = (next_one / "Chart.yaml").read_text()
    (next_one / "Chart.yaml").write_text(re.sub(r"(?m)^(version|appVersion): .*$", r"\1: 0.99.0", text))
    hub = {**values.get("hub", {}), "image": {"tag": "mine"}}
    before, after = (made(chart, {**values, "hub": hub}) for chart in (CHART, next_one))
    kept = before.keys() & after.keys()
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}


@pytest.mark.parametrize(
    "change",
    [{"nodeSelector": {"pool": "x"}}, {"image": {"pullPolicy": "Always"}}, {"image": {"pullSecrets": ["mine"]}}],
    ids=str,
)
@pytest.mark.parametrize("name", ["the defaults", "environments on a claim of the chart's"])
def test_no_cluster_refuses_other_values_of_the_hub(
    made: Callable[[Path, Values], Made], name: str, change: Values
) -> None:
    before, after = (made(CHART, {**MATRIX[name], **more}) for more in ({}, {"hub": change}))
    kept = before.keys() & after.keys()
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Gi"}}}


@pytest.mark.parametrize(
    ("claims", "storage", "said"),
    [
        ([CLAIM], {}, ""),
        ([CLAIM], {"size": "16Gi"}, 'postgresql.storage.size is "16Gi", and the volume was made with "8Gi"'),
        ([CLAIM], {"accessModes": ["ReadWriteMany"]}, 'accessModes is ["ReadWriteMany"], and .* ["ReadWriteOnce"]'),
        ([CLAIM], {"storageClass": "fast"}, 'storageClass is "fast", and the volume was made with null'),
        ([{**CLAIM, "storageClassName": ""}], {}, 'storageClass is null, and the volume was made with ""'),
        ([{**CLAIM, "storageClassName": ""}], {"storageClass": ""}, ""),
        ([CLAIM], {"enabled": False}, "enabled is false, and the volume was made with true"),
        ([], {}, "enabled is true, and the volume was made with false"),
        ([], {"enabled": False, "size": "1Gi"}, ""),
    ],
    ids=str,
)
def test_another_volume_for_the_database_is_refused_before_anything_changes(
    run_helm: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    claims: list[Object],
    storage: Values,
    said: str,
) -> None:
    there = {
        "kind": "StatefulSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "hai", "meta.helm.sh/release-namespace": "platform"},
        },
        "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim} for claim in claims]},
    }
    path = "/apis/apps/v1/namespaces/platform/statefulsets/postgresql"
    with cluster(tmp_path, {path: there}) as kubeconfig:
        done = run_helm(*ON_SERVER, values={"postgresql": {"storage": storage}}, kubeconfig=kubeconfig)
    assert (done.returncode != 0) is bool(said), done.stderr
    assert re.search(re.escape(said).replace(r"\.\*", ".*"), done.stderr)
    assert not said or "kubectl -n platform edit persistentvolumeclaim data-postgresql-0" in done.stderr
