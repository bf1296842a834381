"""What a manifest costs its reader, however hostile its writer is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from hai_client.snapshots import manifest
from hai_client.snapshots.manifest import BadManifest, Entry, Manifest
from kit.operations import assert_grows_evenly, operations


def a_tree(files: int, *, depth: int = 1) -> Manifest:
    above = "/".join(["Ä"] * depth)
    entries = [
        Entry(f"{number:05}/{above}/x", "f", 1, hashlib.sha256(b"%d" % number).hexdigest()) for number in range(files)
    ]
    body = manifest.encode(entries)
    return Manifest(manifest.digest_of(body), entries)


def test_twice_the_files_are_twice_the_work() -> None:
    def parsing(files: int) -> Callable[[], object]:
        body = manifest.encode(a_tree(files).entries)
        return lambda: manifest.parse(body, most=10_000)

    assert_grows_evenly(parsing)


def test_twice_the_folders_above_a_file_are_twice_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    real = manifest._key

    def counted(name: str) -> str:
        nonlocal seen
        seen += len(name)
        return real(name)

    monkeypatch.setattr(manifest, "_key", counted)
    for depth in (20, 40):
        tree = a_tree(3, depth=depth)
        seen = 0
        manifest.encode(tree.entries)
        assert seen == 3 * (5 + depth + 1)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("0", "an entry is a list"),
        ("[]", "an entry is a list"),
        ('{"a":0}', "an entry is a list"),
        ("[" * 9000, "JSON"),
    ],
    ids=lambda value: value[:10],
)
def test_what_is_no_manifest_costs_no_more_than_its_first_wrong_entry(entry: str, why: str) -> None:
    def refused(entries: int) -> int:
        body = ('{"files":[' + ",".join([entry] * entries) + '],"schema":1}').encode()

        def parse() -> None:
            with pytest.raises(BadManifest, match=why):
                manifest.parse(body, most=10_000)

        parse()
        return operations(parse)

    assert refused(1000) <= refused(10) + 10


def test_more_files_or_folders_than_allowed_are_refused_at_the_first_one_too_many() -> None:
    link = ",".join(f'["{number:05}","l",0,"b"]' for number in range(1000))
    with pytest.raises(BadManifest, match="more than 5 files"):
        manifest.parse(f'{{"files":[{link}],"schema":1}}'.encode(), most=5)
    with pytest.raises(BadManifest, match="more than 5 folders"):
        manifest.parse(manifest.encode(a_tree(1, depth=10).entries), most=5)
