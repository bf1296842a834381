"""Bills of materials say what the locks and dpkg say."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from release import number, sbom

LOCK = """\
# a comment
Babel==2.18.0 ; python_full_version >= '3.11' \\
    --hash=sha256:{a} \\
    --hash=sha256:{b}
jupyter_server==2.17.0 --hash=sha256:{a}
uv==0.9.1
""".format(a="a" * 64, b="b" * 64)
STATUS = """\
Package: zlib1g
Status: install ok installed
Architecture: amd64
Version: 1:1.2.13+dfsg-1

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1.0

Package: bash
Status: install ok installed
Architecture: amd64
Description: a shell
 Package: not a field
Version: 5.2.15-2+b7
"""


def test_python_packages_have_the_hashes_of_all_their_files() -> None:
    babel, server, uv = sbom.python(LOCK)
    assert (babel["name"], babel["version"], babel["purl"]) == ("Babel", "2.18.0", "pkg:pypi/babel@2.18.0")
    assert [one["content"][0] for one in babel["hashes"]] == ["a", "b"]
    assert server["purl"] == "pkg:pypi/jupyter-server@2.17.0"
    assert (uv["version"], uv["hashes"]) == ("0.9.1", [])


def test_every_entry_of_the_real_lock_is_in_it() -> None:
    lock = (number.ROOT / "requirements.lock").read_text()
    found = sbom.python(lock)
    assert len(found) == sum(line[:1].isalnum() for line in lock.splitlines())
    assert all(one["hashes"] for one in found)
    assert sum(len(one["hashes"]) for one in found) == lock.count("--hash=sha256:")


def test_npm_packages_are_there_once_with_their_hash() -> None:
    lock = {
        "packages": {
            "": {"name": "ours", "version": "1.0.0"},
            "node_modules/@scope/one": {"version": "1.0.0", "integrity": "sha512-AAEC", "license": "MIT"},
            "node_modules/two/node_modules/@scope/one": {"version": "1.0.0", "integrity": "sha512-AAEC"},
            "node_modules/two": {"version": "2.0.0", "integrity": "other-AAEC"},
            "node_modules/alias": {"name": "real", "version": "3.0.0"},
            "node_modules/link": {"link": True},
        }
    }
    assert [one["purl"] for one in sbom.npm(lock)] == [
        "pkg:npm/%40scope/one@1.0.0",
        "pkg:npm/real@3.0.0",
        "pkg:npm/two@2.0.0",
    ]
    assert sbom.npm(lock)[0]["hashes"] == [{"alg": "SHA-512", "content": "000102"}]


def test_debian_packages_are_those_that_are_installed() -> None:
    assert [one["purl"] for one in sbom.debian(STATUS)] == [
        "pkg:deb/debian/bash@5.2.15-2%2Bb7?arch=amd64",
        "pkg:deb/debian/zlib1g@1%3A1.2.13%2Bdfsg-1?arch=amd64",
    ]
    assert sbom.debian("") == []


def tar(files: dict[str, bytes], mode: str = "w") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


@pytest.mark.parametrize(
    ("layers", "status"),
    [
        ([{"var/lib/dpkg/status": b"first"}, {"etc/hosts": b""}], "first"),
        ([{"./var/lib/dpkg/status": b"first"}, {"var/lib/dpkg/status": b"second"}], "second"),
        ([{"etc/hosts": b""}], ""),
    ],
)
def test_dpkgs_list_is_that_of_the_last_layer_with_one(tmp_path: Path, layers: list, status: str) -> None:
    files = {f"blobs/sha256/{n}": tar(one, "w:gz") for n, one in enumerate(layers)}
    files["blobs/sha256/m"] = json.dumps({"layers": [{"digest": f"sha256:{n}"} for n in range(len(layers))]}).encode()
    files["index.json"] = json.dumps({"manifests": [{"digest": "sha256:m"}]}).encode()
    (tmp_path / "image.tar").write_bytes(tar(files))
    assert sbom.dpkg_status(tmp_path / "image.tar") == status
    assert sbom.manifest_digest(tmp_path / "image.tar") == "sha256:m"


def test_a_document_is_the_same_whatever_the_order_and_names_no_package_twice() -> None:
    parts = sbom.python(LOCK)
    made = sbom.document("hai-hub", "0.1.0", parts, kind="container")
    assert made == sbom.document("hai-hub", "0.1.0", [*reversed(parts), *parts], kind="container")
    said = json.loads(made)
    assert (said["bomFormat"], said["specVersion"], len(said["components"])) == ("CycloneDX", "1.5", 3)
    assert said["metadata"]["component"]["name"] == "hai-hub"
    refs = [one["bom-ref"] for one in said["components"]]
    assert refs == sorted({*refs})
