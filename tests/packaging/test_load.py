"""`hai cluster load` with a real registry: what arrives there is what was signed, and nothing else is installed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from hai_client.errors import HaiError, Invalid
from hai_client.version import __version__
from hai_hub.cluster import load
from hai_hub.cluster.chart import Chart
from hai_hub.cluster.chart_values import problems
from hai_hub.cluster.command import command
from hai_hub.cluster.images import VALUES
from hai_hub.cluster.release_folder import NAMESPACE, SIGNER, archive_name
from kit.ports import free_port
from kit.waiting import wait_for

MISSING = [name for name in ("skopeo", "docker-registry", "ssh-keygen") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


def blob(data: bytes) -> tuple[str, bytes]:
    return f"sha256:{hashlib.sha256(data).hexdigest()}", data


def write_image(file: Path, content: bytes) -> str:
    """Write an OCI archive of one layer with one file; returns the digest of its manifest."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        entry = tarfile.TarInfo("file")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    layer_digest, layer_data = blob(layer.getvalue())
    rootfs = {"type": "layers", "diff_ids": [layer_digest]}
    config = blob(json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs}).encode())
    kinds = ("application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar")
    parts = [
        {"mediaType": kind, "digest": digest, "size": len(data)}
        for kind, (digest, data) in zip(kinds, (config, (layer_digest, layer_data)), strict=True)
    ]
    said = {"schemaVersion": 2, "mediaType": MANIFEST, "config": parts[0], "layers": parts[1:]}
    manifest = blob(json.dumps(said).encode())
    index = {
        "schemaVersion": 2,
        "manifests": [{"mediaType": MANIFEST, "digest": manifest[0], "size": len(manifest[1])}],
    }
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": json.dumps(index).encode()}
    files |= {
        f"blobs/{digest.replace(':', '/')}": data for digest, data in (config, manifest, (layer_digest, layer_data))
    }
    with tarfile.open(file, "w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return manifest[0]


@dataclass
class Made:
    """A signed release, and the options with which it is loaded."""

    folder: Path
    digests: dict[str, str]
    signers: Path

    def load(self, registry: str, *words: str) -> int:
        return command(
            ["load", str(self.folder), "--registry", registry, "--plain-http", "--signers", str(self.signers), *words]
        )


def signed(folder: Path, version: str) -> Made:
    folder.mkdir()
    digests = {image: write_image(folder / archive_name(image), image.encode()) for image in VALUES}
    (folder / "digests.json").write_text(json.dumps({"version": version, "images": digests}))
    (folder / f"hai-{version}.tgz").write_bytes(b"chart")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(lines))
    key = folder.with_name("key")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    words = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(folder / "SHA256SUMS")]
    subprocess.run(words, check=True, capture_output=True)
    signers = folder.with_name("signers")
    signers.write_text(f"{SIGNER} {key.with_suffix('.pub').read_text()}")
    return Made(folder, digests, signers)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return signed(tmp_path / "release", __version__)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("registry"), free_port()
    (folder / "config.yml").write_text(CONFIG.format(folder=folder / "data", port=port))
    process = subprocess.Popen(["docker-registry", "serve", str(folder / "config.yml")], stderr=subprocess.DEVNULL)

    def answers() -> bool:
        assert process.poll() is None
        try:
            return bool(urlopen(f"http://127.0.0.1:{port}/v2/", timeout=5).status == 200)
        except URLError:
            return False

    try:
        wait_for("the registry to answer", answers)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def manifest(registry: str, name: str, reference: str) -> bytes:
    request = Request(f"http://{registry}/v2/{name}/manifests/{reference}", headers={"Accept": MANIFEST})
    with urlopen(request, timeout=30) as answer:
        return bytes(answer.read())


def test_what_was_signed_arrives_and_the_values_name_it(
    made: Made, registry: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made.load(f"{registry}/first/hai") == 0
    said = capsys.readouterr()
    assert problems(said.out, Chart.find(None).schema, file="images.yaml") == []
    values = json.loads(said.out)
    assert values["imageRegistry"] == f"{registry}/first/hai"
    for image, place in VALUES.items():
        table = values
        for part in place:
            table = table[part]
        for reference in (table["digest"], __version__):
            data = manifest(registry, f"first/hai/{table['name']}", reference)
            assert f"sha256:{hashlib.sha256(data).hexdigest()}" == made.digests[image]
    assert said.err.endswith("Next: hai cluster up -f values.yaml -f images.yaml\n")


def test_the_chart_takes_each_image_from_there_by_the_digest_that_was_signed(
    made: Made, registry: str, tmp_path: Path
) -> None:
    helm = shutil.which("helm", path=os.pathsep.join([os.environ["PATH"], str(Path(sys.executable).parent)]))
    if helm is None:
        pytest.skip("no helm: `make helm` installs it")
    file = tmp_path / "images.yaml"
    assert made.load(f"{registry}/chart/hai", "--out", str(file)) == 0
    words = [helm, "template", "hai", str(Chart.find(None).folder), "--values", str(file)]
    # Without a cluster to ask, and without images of others.
    words += ["--set", "apiServer.cidrs={192.0.2.10/32},haienv.enabled=true,workloads.namespace=default"]
    words += ["--set", "hub.db.type=sqlite-pvc,scheduler.db.type=sqlite,scheduler.redis.type=none"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    named = set(re.findall(rf"{re.escape(registry)}/chart/hai/[^\s\",]+", text))
    assert named == {f"{registry}/chart/hai/hai-{image}@{digest}" for image, digest in made.digests.items()}
    for pod in re.findall(r"^ +image: (\S+)", text, re.MULTILINE):
        assert pod.strip('"') in named
    for image, digest in made.digests.items():
        assert f"sha256:{hashlib.sha256(manifest(registry, f'chart/hai/hai-{image}', digest)).hexdigest()}" == digest


def test_the_values_go_to_a_file_and_another_version_brings_its_own_chart(
    tmp_path: Path, registry: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = signed(tmp_path / "later release", "0.99.0+company.1")
    file = tmp_path / "images.yaml"
    # Twice: an image that is there already is no fault.
    for _ in range(2):
        assert made.load(f"{registry}/second", "--out", str(file)) == 0
    assert json.loads(file.read_text())["hub"]["image"]["digest"] == made.digests["hub"]
    said = capsys.readouterr()
    assert said.out == ""
    chart = f"'{made.folder}/hai-0.99.0+company.1.tgz'"
    assert said.err.endswith(
        f"Next: helm upgrade --install hai {chart} -n hai --create-namespace -f values.yaml -f {file}\n"
    )


def test_an_image_that_changes_between_the_look_and_the_push_is_not_named(
    made: Made, registry: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    look = load.checked

    def and_change(folder: Path, **words: object) -> object:
        found = look(folder, **words)  # type: ignore[arg-type]
        write_image(found.archive("singleuser"), b"something else")
        return found

    monkeypatch.setattr(load, "checked", and_change)
    with pytest.raises(
        HaiError, match=r"singleuser\.oci\.tar: holds sha256:.*, which the release names: it was changed"
    ):
        made.load(f"{registry}/third", "--out", str(made.folder / "values"))
    assert not (made.folder / "values").exists()
    assert capsys.readouterr().out == ""


def test_a_changed_byte_pushes_nothing(made: Made, registry: str) -> None:
    file = made.folder / archive_name("task")
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(Invalid, match="not the bytes that SHA256SUMS names"):
        made.load(f"{registry}/fourth")
    with urlopen(f"http://{registry}/v2/_catalog", timeout=30) as answer:
        assert not [name for name in json.load(answer)["repositories"] if name.startswith("fourth/")]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "https://r/hai",
        "--all",
        "r/hai:1",
        "r/hai@sha256:1",
        "r hai",
        "r/../x",
        "r//x",
        "r/Hai",
        "user:word@r/x",
        "r\n",
    ],
)
def test_what_is_no_name_of_a_registry_is_refused_before_anything(name: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"--registry: .* is no name of a registry"):
        command(["load", str(tmp_path), f"--registry={name}", "--unsigned"])


def test_a_registry_that_does_not_answer_is_said_in_one_line(made: Made) -> None:
    with pytest.raises(HaiError, match=r"skopeo copy: .*connection refused") as raised:
        made.load(f"127.0.0.1:{free_port()}")
    assert "\n" not in raised.value.message
