"""The port to snapshots of code, over every adapter: there is one, on a folder."""

from __future__ import annotations

import asyncio
import os
import stat
import zlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from hai_client.snapshots import packing
from hai_client.snapshots.manifest import compress
from hai_scheduler.adapters.snapshots import layout
from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.snapshots import NoSuchSnapshot, SnapshotFault, SnapshotLimits, SnapshotTooLarge
from kit.code_folders import Code, forged, sha
from kit.memory.clock import VirtualClock

CODE = Code(
    {"train.py": b"print(1)", "pkg/__init__.py": b"", "pkg/deep/a.py": b"a = 1", "run.sh": b"#!/bin/sh\n", "b.py": b""},
    {"now": "train.py", "pkg/up": "../b.py", "pkg/deep/all": "../.."},
)
KEEP = timedelta(days=7)
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def snapshots(tmp_path: Path, clock: VirtualClock) -> SnapshotFolder:
    return SnapshotFolder(tmp_path / "snapshots", clock)


async def send(snapshots: SnapshotFolder, code: Code, user: str = "ann") -> None:
    stored = await snapshots.offer(user, code.digest, code.packed)
    if not stored.complete:
        receiver = await snapshots.receive(user, code.digest)
        await receiver.take(code.stream(stored.missing))
        await receiver.finish()
        stored = await snapshots.complete(user, code.digest)
    assert stored.complete


async def sweep(snapshots: SnapshotFolder, clock: VirtualClock, *used: str, user: str = "ann") -> int:
    async with snapshots.sweeping(user) as found:
        assert found is not None
        return await found.remove(used, clock.now(), KEEP)


def contents(tmp_path: Path, user: str = "ann") -> set[str]:
    return {path.name for path in (tmp_path / "snapshots" / user / "contents").glob("*/*")}


def everything(tree: Path) -> list[Path]:
    return [tree, *tree.rglob("*")]


def shown(tree: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in everything(tree) if path.is_file()}


def aged(tmp_path: Path, clock: VirtualClock) -> None:
    """Give all files the time of the virtual clock, which the disk does not know."""
    now = clock.now().timestamp()
    for here, _, files in os.walk(tmp_path / "snapshots"):
        for name in files:
            if not (Path(here) / name).is_symlink() and f"{os.sep}manifests" not in here:
                os.utime(Path(here) / name, (now, now))


async def test_what_was_sent_is_a_tree_that_nobody_can_change(snapshots: SnapshotFolder, tmp_path: Path) -> None:
    stored = await snapshots.offer("ann", CODE.digest, CODE.packed)
    assert (stored.files, stored.size, stored.complete) == (8, sum(map(len, CODE.files.values())), False)
    assert set(stored.missing) == {sha(content) for content in CODE.files.values()}
    await send(snapshots, CODE)
    folder = await snapshots.folder("ann", CODE.digest)
    assert folder.mount is None
    tree = Path(folder.path)
    assert shown(tree) == {
        **CODE.files,
        "now": b"print(1)",
        "pkg/up": b"",
    }
    assert [str((tree / link).readlink()) for link in ("now", "pkg/deep/all")] == ["train.py", "../.."]
    for path in everything(tree):
        mode = path.lstat().st_mode
        assert path.is_symlink() or not mode & 0o222, path
        assert path.is_dir() or bool(mode & stat.S_IXUSR) == (path.name.endswith(".sh") or path.is_symlink())


async def test_what_is_there_already_is_not_asked_for_and_is_one_file(
    snapshots: SnapshotFolder, tmp_path: Path
) -> None:
    await send(snapshots, CODE)
    assert (await snapshots.offer("ann", CODE.digest, CODE.packed)).complete
    other = Code({**CODE.files, "train.py": b"print(2)"})
    assert (await snapshots.offer("ann", other.digest, other.packed)).missing == [sha(b"print(2)")]
    await send(snapshots, other)
    trees = [Path((await snapshots.folder("ann", one.digest)).path) for one in (CODE, other)]
    assert (trees[0] / "pkg/deep/a.py").samefile(trees[1] / "pkg/deep/a.py")


async def test_another_users_content_is_neither_given_nor_known(snapshots: SnapshotFolder) -> None:
    secret = Code({"key.pem": b"a secret"})
    await send(snapshots, secret)
    for ask in (snapshots.state, snapshots.receive, snapshots.complete, snapshots.folder, snapshots.manifest):
        with pytest.raises(NoSuchSnapshot):
            await ask("bob", secret.digest)
    with pytest.raises(NoSuchSnapshot):
        async with snapshots.using("bob", secret.digest):
            pass
    # He knows the hash, and gets nothing by it; nor does the answer tell whether anybody has the file.
    stored = await snapshots.offer("bob", secret.digest, secret.packed)
    assert (stored.complete, stored.missing) == (False, [sha(b"a secret")])
    with pytest.raises(NoSuchSnapshot):
        async with snapshots.using("bob", secret.digest):
            pass


@pytest.mark.parametrize("user", ["..", ".", "a/b", "../ann", "%2E", "ann\n", ".hidden", "ä@b"])
async def test_each_user_has_a_folder_whatever_the_name(snapshots: SnapshotFolder, tmp_path: Path, user: str) -> None:
    await send(snapshots, CODE, user)
    place = layout.place_of(tmp_path / "snapshots", user).folder
    assert place.parent == tmp_path / "snapshots"
    assert await snapshots.users() == [user]
    assert everything(tmp_path)[1] == tmp_path / "snapshots"
    assert {path.parts[len(tmp_path.parts)] for path in everything(tmp_path)[1:]} == {"snapshots"}


H = sha(b"x")
#: Characters that no name may have: controls, ends of lines, and orders about the direction of text.
HIDDEN = "\x00\n\x1b\x7f\x80\x85\x9b\x9f\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069"
BAD: list[list[list[object]]] = [
    [["/etc/passwd", "f", 1, H]],
    [["../up", "f", 1, H]],
    [["a/../../up", "f", 1, H]],
    [["a//b", "f", 1, H]],
    [["./a", "f", 1, H]],
    [["a/", "f", 1, H]],
    [["", "f", 1, H]],
    [["a\0b", "f", 1, H]],
    [["a\nb", "f", 1, H]],
    [["\ud800", "f", 1, H]],
    [["/".join("a" * 65), "f", 1, H]],
    [["a" * 256, "f", 1, H]],
    [["a", "f", 1, H], ["a", "f", 1, H]],
    [["b", "f", 1, H], ["a", "f", 1, H]],
    [["A", "f", 1, H], ["a", "f", 1, H]],
    [["A/x", "f", 1, H], ["a/y", "f", 1, H]],
    [["caf\u00e9", "f", 1, H], ["cafe\u0301", "f", 1, H]],
    [["a", "f", 1, H], ["a/b", "f", 1, H]],
    [["a", "l", 0, "b"], ["a/b", "f", 1, H]],
    [["A/b", "f", 1, H], ["a", "l", 0, "/tmp"]],
    *([[f"a{hidden}b", "f", 1, H]] for hidden in HIDDEN),
    *([["a", "l", 0, f"b{hidden}"]] for hidden in HIDDEN),
    [["a", "l", 0, "/etc/passwd"]],
    [["a", "l", 0, "../x"]],
    [["a/b", "l", 0, "../../x"]],
    [["a/b", "l", 0, "c/../../../x"]],
    [["a/b", "l", 0, "c/.."]],
    [["a", "l", 0, ""]],
    [["a", "l", 3, "b"]],
    [["a", "f", -1, H]],
    [["a", "f", True, H]],
    [["a", "f", 1.0, H]],
    [["a", "f", 2**60, H]],
    [["a", "f", 1, H.upper()]],
    [["a", "f", 1, H[:-1]]],
    [["a", "d", 1, H]],
    [["a", "f", 1, H], ["b", "f", 2, H]],
    [["a", "f", 1]],
    [[1, "f", 1, H]],
]


@pytest.mark.parametrize("entries", BAD, ids=lambda entries: repr(entries)[:60])
async def test_a_manifest_that_no_folder_has_is_refused(
    snapshots: SnapshotFolder, tmp_path: Path, entries: list[list[object]]
) -> None:
    with pytest.raises(SnapshotFault, match="manifest"):
        await snapshots.offer("ann", *forged(entries))
    assert not (tmp_path / "snapshots").exists()


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (b"not zlib", "not compressed"),
        (compress(b'{"files":[' + b"[" * 100_000 + b'],"schema":1}'), "entry 1 is not JSON"),
        (compress(b'{"files":[["a","l",0,"b"] ["c","l",0,"d"]],"schema":1}'), "entry 1 does not end"),
        (compress(b'{"files":[["a","l",0,"b"],],"schema":1}'), "entry 2 is not JSON"),
        (compress(b'{"files":[,],"schema":1}'), "entry 1 is not JSON"),
        (compress(b"\xff"), "not JSON"),
        (compress(b"{}"), "keys"),
        (compress(b'{"files":{},"schema":1}'), "keys"),
        (compress(b"{}")[:-1], "does not end"),
        (compress(b"{}") + b"more", "does not end"),
        (zlib.compress(b" " * (33 * 2**20)), "larger than"),
    ],
)
async def test_a_manifest_that_cannot_be_read_is_refused(snapshots: SnapshotFolder, packed: bytes, why: str) -> None:
    unpacker = zlib.decompressobj()
    try:
        digest = sha(unpacker.decompress(packed, 40 * 2**20))
    except zlib.error:
        digest = H
    with pytest.raises(SnapshotFault, match=why):
        await snapshots.offer("ann", digest, packed)


async def test_a_manifest_under_another_digest_is_refused(snapshots: SnapshotFolder) -> None:
    with pytest.raises(SnapshotFault, match="another SHA-256"):
        await snapshots.offer("ann", H, CODE.packed)
    for digest in ("../../etc", H.upper(), ""):
        with pytest.raises(NoSuchSnapshot):
            await snapshots.state("ann", digest)


def two() -> Code:
    return Code({"a": b"first content", "b": b"second content"})


def wrong_hash(code: Code) -> bytes:
    packer = packing.Packer()
    packer.add(sha(b"first content"), b"FIRST content")
    return packer.finish()


def wrong_size(code: Code) -> bytes:
    packer = packing.Packer()
    packer.add(sha(b"first content"), b"first content and more")
    return packer.finish()


def not_asked(code: Code) -> bytes:
    packer = packing.Packer()
    packer.add(sha(b"third"), b"third")
    return packer.finish()


def twice(code: Code) -> bytes:
    packer = packing.Packer()
    for _ in range(2):
        packer.add(sha(b"first content"), b"first content")
    return packer.finish()


def bomb(code: Code) -> bytes:
    return zlib.compress(b"\0" * 50_000_000)


def tail(code: Code) -> bytes:
    return code.stream([sha(b"first content")]) + b"tail"


async def test_two_clients_may_send_the_same_code_at_the_same_time(snapshots: SnapshotFolder) -> None:
    code = two()
    stored = await snapshots.offer("ann", code.digest, code.packed)
    await send(snapshots, code)
    tree = Path((await snapshots.folder("ann", code.digest)).path)
    # The other one was told the same, and begins later.
    receiver = await snapshots.receive("ann", code.digest)
    await receiver.take(code.stream(stored.missing))
    await receiver.finish()
    other = Code({**code.files, "c": b"third"})
    await send(snapshots, other)
    again = Path((await snapshots.folder("ann", other.digest)).path)
    assert shown(again) == other.files
    assert (again / "a").samefile(tree / "a"), "a content is stored once"


@pytest.mark.parametrize("stream", [wrong_hash, wrong_size, not_asked, twice, bomb, tail])
async def test_a_stream_that_is_not_what_was_agreed_is_refused(
    snapshots: SnapshotFolder, tmp_path: Path, stream: Callable[[Code], bytes]
) -> None:
    code = two()
    await snapshots.offer("ann", code.digest, code.packed)
    receiver = await snapshots.receive("ann", code.digest)
    with pytest.raises(SnapshotFault):
        await receiver.take(stream(code))
    await receiver.abort()
    # What was right before is kept, and nothing else.
    assert contents(tmp_path) <= {sha(b"first content")}
    assert not list((tmp_path / "snapshots/ann/incoming").iterdir())
    assert not (await snapshots.complete("ann", code.digest)).complete
    await send(snapshots, code)


async def test_a_stream_that_breaks_off_anywhere_is_gone_on_with(snapshots: SnapshotFolder, tmp_path: Path) -> None:
    code = Code({f"f{number}": os.urandom(300) for number in range(5)})
    for cut in range(1, 1500, 97):
        user = f"user{cut}"
        stored = await snapshots.offer(user, code.digest, code.packed)
        receiver = await snapshots.receive(user, code.digest)
        stream = code.stream(stored.missing)[:cut]
        for at in range(0, len(stream), 50):
            await receiver.take(stream[at : at + 50])
        with pytest.raises(SnapshotFault, match="ends in the middle"):
            await receiver.finish()
        after = await snapshots.state(user, code.digest)
        assert set(after.missing) == {sha(content) for content in code.files.values()} - contents(tmp_path, user)
        await send(snapshots, code, user)


async def test_what_is_too_large_is_refused_with_what_is_large(tmp_path: Path, clock: VirtualClock) -> None:
    limits = SnapshotLimits(files=3, files_per_user=5, file_size=100, size=150, size_per_user=250)
    snapshots = SnapshotFolder(tmp_path / "snapshots", clock, limits)

    async def refused(code: Code) -> str:
        with pytest.raises(SnapshotFault) as error:
            await snapshots.offer("ann", code.digest, code.packed)
        return str(error.value)

    assert "more than 3 files" in await refused(Code(dict.fromkeys("abcd", b"")))
    assert "'big'" in await refused(Code({"big": b"x" * 101}))
    assert "a snapshot may have" in await refused(Code({"a": b"x" * 80, "b": b"y" * 80}))
    await send(snapshots, Code({"a": b"1" * 100}))
    await send(snapshots, Code({"a": b"2" * 100, "b": b"1" * 50}))
    assert "a user may have" in await refused(Code({"a": b"3" * 100}))
    # Another user has room, and so has what is stored already.
    await send(snapshots, Code({"a": b"3" * 100}), "bob")
    await send(snapshots, Code({"z": b"1" * 100}))
    assert "4 files, this one has 2, and a user may have 5" in await refused(Code({"y": b"1" * 100, "z": b"1" * 50}))


async def test_two_streams_at_once_do_not_go_beyond_the_space(tmp_path: Path, clock: VirtualClock) -> None:
    snapshots = SnapshotFolder(tmp_path / "snapshots", clock, SnapshotLimits(size_per_user=100))
    one = Code({"a": b"1" * 80})
    await snapshots.offer("ann", one.digest, one.packed)
    receiver = await snapshots.receive("ann", one.digest)
    other = Code({"a": b"2" * 90})
    await snapshots.offer("ann", other.digest, other.packed)
    await send(snapshots, one)
    late = await snapshots.receive("ann", other.digest)
    with pytest.raises(SnapshotTooLarge, match="more space"):
        await late.take(other.stream([sha(b"2" * 90)]))
    await late.abort()
    await receiver.abort()


async def test_a_snapshot_goes_when_no_task_has_had_it_for_long(
    snapshots: SnapshotFolder, clock: VirtualClock, tmp_path: Path
) -> None:
    await send(snapshots, CODE)
    await clock.advance(KEEP.total_seconds() - 60)
    assert await sweep(snapshots, clock) == 0
    assert await sweep(snapshots, clock, CODE.digest) == 0
    # While a task had it, the time did not run.
    await clock.advance(KEEP.total_seconds() - 60)
    assert await sweep(snapshots, clock) == 0
    await clock.advance(120)
    assert await sweep(snapshots, clock) == 1
    with pytest.raises(NoSuchSnapshot):
        await snapshots.folder("ann", CODE.digest)
    assert not list((tmp_path / "snapshots/ann/trees").iterdir())
    assert not list((tmp_path / "snapshots/ann/incoming").iterdir())


async def test_contents_go_with_the_last_tree_that_has_them(
    snapshots: SnapshotFolder, clock: VirtualClock, tmp_path: Path
) -> None:
    await send(snapshots, CODE)
    await clock.advance(KEEP.total_seconds())
    other = Code({"kept.py": b"a = 1", "own.py": b"own"})
    await send(snapshots, other)
    await clock.advance(60)
    assert await sweep(snapshots, clock) == 1
    aged(tmp_path, clock)
    await clock.advance(2 * DAY.total_seconds())
    await sweep(snapshots, clock)
    assert contents(tmp_path) == {sha(b"a = 1"), sha(b"own")}
    # What was removed is asked for again.
    assert sha(b"print(1)") in (await snapshots.offer("ann", CODE.digest, CODE.packed)).missing
    await send(snapshots, CODE)


async def test_what_is_being_sent_is_left_alone_for_a_day(
    snapshots: SnapshotFolder, clock: VirtualClock, tmp_path: Path
) -> None:
    code = two()
    await snapshots.offer("ann", code.digest, code.packed)
    receiver = await snapshots.receive("ann", code.digest)
    await receiver.take(code.stream([sha(b"first content")]))
    await receiver.finish()
    aged(tmp_path, clock)
    await clock.advance(DAY.total_seconds() - 60)
    assert await sweep(snapshots, clock) == 0
    assert contents(tmp_path) == {sha(b"first content")}
    await clock.advance(120)
    assert await sweep(snapshots, clock) == 1
    assert contents(tmp_path) == set()


async def test_a_removal_waits_for_who_submits_and_the_other_way_round(
    snapshots: SnapshotFolder, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await send(snapshots, CODE)
    await clock.advance(2 * KEEP.total_seconds())
    async with snapshots.using("ann", CODE.digest), snapshots.sweeping("ann") as busy:
        assert busy is None
    # `using` has marked it as used.
    assert await sweep(snapshots, clock) == 0
    monkeypatch.setattr(layout.Place.take, "__kwdefaults__", {"patience": 0.05})
    async with snapshots.sweeping("ann") as alone:
        assert alone is not None
        with pytest.raises(Temporary):
            async with snapshots.using("ann", CODE.digest):
                pass


async def test_several_processes_make_one_tree(snapshots: SnapshotFolder, tmp_path: Path, clock: VirtualClock) -> None:
    other = SnapshotFolder(tmp_path / "snapshots", clock)
    code = Code({f"f{number}": str(number).encode() for number in range(200)})
    stored = await snapshots.offer("ann", code.digest, code.packed)
    receivers = [await each.receive("ann", code.digest) for each in (snapshots, other)]
    await asyncio.gather(*(each.take(code.stream(stored.missing)) for each in receivers))
    await asyncio.gather(*(each.finish() for each in receivers))
    made = await asyncio.gather(*(each.complete("ann", code.digest) for each in (snapshots, other) * 4))
    assert all(each.complete for each in made)
    assert not list((tmp_path / "snapshots/ann/incoming").iterdir())


async def test_a_user_gets_back_what_was_stored(snapshots: SnapshotFolder, clock: VirtualClock) -> None:
    await send(snapshots, CODE)
    assert await snapshots.manifest("ann", CODE.digest) == CODE.packed
    whole = [each async for each in snapshots.contents("ann", CODE.digest, 0)]
    assert {digest for digest, _ in whole} == {sha(content) for content in CODE.files.values()}
    assert all(sha(content) == digest for digest, content in whole)
    assert [each async for each in snapshots.contents("ann", CODE.digest, 2)] == whole[2:]


async def test_on_a_volume_a_rank_mounts_its_own_tree_alone(tmp_path: Path, clock: VirtualClock) -> None:
    snapshots = SnapshotFolder(tmp_path / "snapshots", clock, claim="hai-snapshots")
    await send(snapshots, CODE)
    folder = await snapshots.folder("ann", CODE.digest)
    assert folder.mount is not None
    assert (folder.path, folder.mount.mount_path, folder.mount.read_only) == ("/hai-code", "/hai-code", True)
    assert (folder.mount.source, folder.mount.sub_path) == ("hai-snapshots", f"ann/trees/{CODE.digest}/code")
