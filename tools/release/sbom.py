"""Bills of materials in CycloneDX 1.5: the packages that a part of a release has, with their versions and hashes.

They are made of the locks and of dpkg's own list, and have no time and no random number: equal inputs, equal bytes.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

#: A requirement of a lock with its hashes; what follows the version is a marker.
_LOCKED: Final = re.compile(
    r"^(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[^\s;\\]+)[^\n]*(?P<hashes>(?:\n    --hash=[^\n]*)*)",
    re.MULTILINE,
)
_HASH: Final = re.compile(r"sha256:([0-9a-f]{64})")
_DPKG: Final = "var/lib/dpkg/status"
_NAMES: Final = {"sha512": "SHA-512", "sha384": "SHA-384", "sha256": "SHA-256", "sha1": "SHA-1"}

Component = dict[str, Any]


def python(lock: str) -> list[Component]:
    """Return the packages of a requirements.lock; hashes are those of all files that may be installed."""
    return [
        {
            "type": "library",
            "name": found["name"],
            "version": found["version"],
            "purl": f"pkg:pypi/{re.sub('[-_.]+', '-', found['name']).lower()}@{quote(found['version'])}",
            "hashes": [{"alg": "SHA-256", "content": one} for one in _HASH.findall(found["hashes"])],
        }
        for found in _LOCKED.finditer(lock)
    ]


def npm(lock: Mapping[str, Any]) -> list[Component]:
    """Return the packages of a package-lock.json, those that only build among them."""
    found = {}
    for path, package in lock["packages"].items():
        if not path or package.get("link") or "version" not in package:
            continue
        name, version = package.get("name") or path.rpartition("node_modules/")[2], package["version"]
        component: Component = {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:npm/{quote(name)}@{quote(version)}",
        }
        if hashes := [one for one in map(_npm_hash, package.get("integrity", "").split()) if one]:
            component["hashes"] = hashes
        if isinstance(package.get("license"), str):
            component["licenses"] = [{"license": {"name": package["license"]}}]
        found[name, version] = component
    return [found[key] for key in sorted(found)]


def _npm_hash(text: str) -> dict[str, str] | None:
    kind, _, value = text.partition("-")
    try:
        return {"alg": _NAMES[kind], "content": base64.b64decode(value, validate=True).hex()}
    except (KeyError, binascii.Error):
        return None


def debian(status: str) -> list[Component]:
    """Return the packages that dpkg's list calls installed."""
    found = []
    for entry in status.split("\n\n"):
        said = dict(line.split(": ", 1) for line in entry.splitlines() if line[:1] not in (" ", "") and ": " in line)
        if said.get("Status", "").endswith(" installed"):
            name, version = said["Package"], said["Version"]
            purl = f"pkg:deb/debian/{quote(name)}@{quote(version)}?arch={quote(said['Architecture'])}"
            found.append({"type": "library", "name": name, "version": version, "purl": purl})
    return sorted(found, key=lambda one: (one["name"], one["version"]))


def manifest_digest(archive: Path) -> str:
    """Return the digest of the one image in an OCI archive."""
    with tarfile.open(archive) as outer:
        (image,) = json.loads(_member(outer, "index.json"))["manifests"]
    return str(image["digest"])


def dpkg_status(archive: Path) -> str:
    """Return dpkg's list of the image in an OCI archive: that of the last layer with one; "" if there is none."""
    status = ""
    with tarfile.open(archive) as outer:
        manifest = json.loads(_member(outer, _blob(json.loads(_member(outer, "index.json"))["manifests"][0])))
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=outer.extractfile(_blob(layer)), mode="r|*") as inner:
                for entry in inner:
                    if entry.name.removeprefix("./") == _DPKG and (file := inner.extractfile(entry)) is not None:
                        status = file.read().decode()
    return status


def _blob(named: Mapping[str, str]) -> str:
    return f"blobs/{named['digest'].replace(':', '/')}"


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    assert file is not None
    return file.read()


def document(name: str, version: str, parts: Iterable[Component], *, kind: str = "library") -> str:
    """Return the whole document, as JSON."""
    components = [{**part, "bom-ref": part["purl"]} for part in {part["purl"]: part for part in parts}.values()]
    return (
        json.dumps(
            {
                "bomFormat": "CycloneDX",
                "specVersion": "1.5",
                "version": 1,
                "metadata": {
                    "component": {
                        "type": kind,
                        "bom-ref": f"{name}@{version}",
                        "name": name,
                        "version": version,
                        "licenses": [{"expression": "Apache-2.0"}],
                    }
                },
                "components": sorted(components, key=lambda one: str(one["purl"])),
            },
            ensure_ascii=False,
            indent=1,
        )
        + "\n"
    )
