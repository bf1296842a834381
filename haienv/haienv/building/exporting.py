"""Writes the lock of a generation as pylock.toml (PEP 751), which other tools install from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import tomllib

from haienv.building.resolving import blocks, held, index_words, split
from haienv.building.uv import Uv
from haienv.shared.errors import BuildFailed, Wrong
from haienv.shared.masking import masked
from haienv.store import lockfile
from haienv.store.layout import Generation
from haienv.store.manifest import Manifest
from haienv.store.site import Site
from haienv.store.spec import Spec, key_of


def pylock(uv: Uv, generation: Generation, manifest: Manifest, spec: Spec, site: Site) -> str:
    """Return a pylock.toml with just the files that the generation's requirements.lock admits.

    The index tells where the files are: requirements.lock names only their hashes, and so stays true for each mirror.

    Args:
        uv: Runs uv.
        generation: The generation.
        manifest: Its manifest.
        spec: What it was made from.
        site: The settings of the site.

    Raises:
        BuildFailed: The index no longer has these files.
        Wrong: It has packages of conda, which this kind of file cannot hold.
    """
    text = generation.lock.read_text(encoding="utf-8")
    pins = lockfile.packages(text)
    if lockfile.conda(pins):
        raise Wrong("lock: pylock.toml cannot hold packages of conda; --format requirements prints the lock with them")
    wanted = "".join(f"{line}\n" for block in blocks(text) for line in block)
    lines, hashes = split(" ".join(block).replace("\\", " ") for block in blocks(text))
    if not lines:
        raise Wrong("lock: the environment has no packages: there is nothing to lock")
    words = index_words([*spec.indexes, *site.packages.values()])
    found = uv.run(
        ["pip", "compile", "-", "--format", "pylock.toml", "--python", str(generation.python), "--no-deps",
         "--no-header", "--no-annotate", "--quiet", "--generate-hashes", "--index-strategy", "unsafe-best-match",
         *words],
        stdin=wanted,
        doing="find the files of the lock",
    )  # fmt: skip
    packages = tomllib.loads(found).get("packages", [])
    return "\n".join(_text(manifest, [_package(one, hashes) for one in packages]))


def _package(one: Mapping[str, Any], hashes: Mapping[str, set[str]]) -> dict[str, Any]:
    name = str(one["name"])
    allowed = hashes.get(key_of(name), set())
    files = {
        kind: [_file(file) for file in (one.get(kind, []) if kind == "wheels" else [one[kind]] if kind in one else [])
               if f"sha256:{file.get('hashes', {}).get('sha256')}" in allowed]
        for kind in ("archive", "sdist", "wheels")
    }  # fmt: skip
    if not any(files.values()):
        # The same words as for a build.
        held(f"{name}=={one.get('version')} --hash=sha256:{'0' * 64}", {key_of(name): allowed})
        raise BuildFailed(f"{name}: the index has none of its files")
    made = {key: one[key] for key in ("name", "version", "index") if key in one}
    for kind, found in files.items():
        if found:
            made[kind] = found if kind == "wheels" else found[0]
    return made


def _file(file: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: file[key] for key in ("name", "url", "path", "size") if key in file}
    if "url" in kept:
        kept["url"] = masked(str(kept["url"]))
    return {**kept, "hashes": {"sha256": file["hashes"]["sha256"]}}


def _text(manifest: Manifest, packages: list[dict[str, Any]]) -> Iterator[str]:
    release = ".".join(manifest.python.split(".")[:2])
    marker = f"sys_platform == 'linux' and platform_machine == '{manifest.machine}'"
    yield f"# {manifest.name}@{manifest.generation}, {manifest.lock}"
    yield 'lock-version = "1.0"'
    yield f"environments = [{json.dumps(marker)}]"
    yield f'requires-python = "=={release}.*"'
    yield 'created-by = "haienv"'
    for one in packages:
        yield "\n[[packages]]"
        for key, value in one.items():
            if key == "wheels":
                yield "wheels = ["
                yield from (f"  {_value(file)}," for file in value)
                yield "]"
            else:
                yield f"{key} = {_value(value)}"
    yield ""


def _value(value: Any) -> str:
    """Return a value as TOML: texts of JSON are texts of TOML, but for a bare DEL."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(one)}" for key, one in value.items()) + " }"
    return json.dumps(value).replace("\x7f", "\\u007f")
