"""How fast samples are read: from FFRecord files by us and by the original's C++ reader, and from a file each.

The original is measured where `HAI_FFRECORD_ORIGINAL` names its `_ffrecord_cpp.*.so`, or `HAI_FFRECORD_SOURCES` a
checkout of it, which is then compiled (a C++ compiler, zlib, libaio and pybind11 2.12 or newer must be there). Each
is measured in a process of its own, because what one allocates changes how the allocator serves the next. The files are
in the page cache: what is compared is the work of reading, not a disk.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import random
import statistics
import subprocess
import sysconfig
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.figures import Report, say
from hai_ffrecord import FileReader, FileWriter, checksums

#: Bytes of a sample: how many of them are read, and how many times the original's samples a second are aimed at.
SIZES = {1 << 10: (100_000, 0.9), 110 << 10: (4_000, 2.0), 1 << 20: (512, 2.0)}
BATCH = 64
#: Each is measured so many times in turn, for so many seconds, and the median counts.
ROUNDS = 7
SECONDS = 0.5

Read = Callable[[Sequence[int]], object]


def measure(
    report: Report,
    sizes: Mapping[int, tuple[int, float]] = SIZES,
    rounds: int = ROUNDS,
    seconds: float = SECONDS,
) -> None:
    """Samples a second, size by size, with and without checksums."""
    if checksums.crc32 is zlib.crc32:
        report.skip("checksums by ISA-L", "isal is not installed, so zlib makes them: pip install isal")
    with tempfile.TemporaryDirectory() as folder:
        theirs = original(Path(folder))
        if theirs is None:
            report.skip(
                "the original's reader",
                "set HAI_FFRECORD_ORIGINAL to its _ffrecord_cpp.*.so, or HAI_FFRECORD_SOURCES to a checkout",
            )
        for size, (count, aim) in sizes.items():
            say(f"FFRecord: {count:,} samples of {shown(size)}")
            (place := Path(folder) / str(size)).mkdir()
            readers = contenders(place, size, count, theirs)
            found = in_turn(readers, count, rounds, seconds)
            for name, (median, ratio) in found.items():
                is_ours = name == "hai_ffrecord" and theirs is not None
                topic = f"FFRecord, samples of {shown(size)}, batches of {BATCH}, warm"
                report.add(topic, name, median, "/s")
                if is_ours:
                    report.add(topic, "hai_ffrecord to the original", ratio, "x", at_least=aim)


def contenders(place: Path, size: int, count: int, theirs: Any) -> dict[str, Read]:
    """Who reads the same samples; the last one is what the first is compared with, if the original is there."""
    blob = random.Random(size).randbytes(size + count)
    path, plain = place / "samples.ffr", place / "plain"
    plain.mkdir()
    sums: list[int] = []
    with FileWriter(path, count) as writer:
        for at in range(count):
            sample = blob[at : at + size]
            writer.write_one(sample)
            (plain / str(at)).write_bytes(sample)
            sums.append(zlib.crc32(sample))
    names = [str(plain / str(at)) for at in range(count)]

    def small_files(indices: Sequence[int]) -> list[bytes]:
        found = []
        for index in indices:
            with open(names[index], "rb", buffering=0) as file:  # noqa: PTH123 -- what a loop that is in a hurry does
                data = file.read()
            assert zlib.crc32(data) == sums[index]
            found.append(data)
        return found

    readers: dict[str, Read] = {
        "hai_ffrecord": FileReader(path).read,
        "hai_ffrecord, one thread": FileReader(path, threads=1).read,
        "hai_ffrecord, no checksums": FileReader(path, check_data=False).read,
        "a file each, zlib": small_files,
    }
    if theirs is not None:
        # Their objects must outlive the methods taken from them: a method keeps its object.
        readers["original (C++, AIO)"] = theirs.FileReader([str(path)], True).read
        readers["original, no checksums"] = theirs.FileReader([str(path)], False).read
    return readers


def in_turn(readers: Mapping[str, Read], count: int, rounds: int, seconds: float) -> dict[str, tuple[float, float]]:
    """The median of each one's samples a second, and of its ratio to the original's in the same round."""
    rng = random.Random(1)
    batches = [[rng.randrange(count) for _ in range(BATCH)] for _ in range(200)]
    rates: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(rounds):
        for name, read in readers.items():
            rates[name].append(_alone(name, read, batches, seconds))
    base = rates.get("original (C++, AIO)")
    return {
        name: (
            statistics.median(found),
            statistics.median(one / other for one, other in zip(found, base, strict=True)) if base else 0.0,
        )
        for name, found in rates.items()
    }


def _alone(name: str, read: Read, batches: Sequence[Sequence[int]], seconds: float) -> float:
    """Samples a second, in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sending.send(_rate(name, read, batches, seconds)))
    child.start()
    sending.close()
    rate: float = receiving.recv()
    child.join()
    return rate


def _rate(name: str, read: Read, batches: Sequence[Sequence[int]], seconds: float) -> float:
    given: Any = read(batches[0])
    again: Any = [read(batches[0][at : at + 1])[0] for at in range(BATCH)]  # type: ignore[index]
    if [bytes(one) for one in given] != [bytes(one) for one in again]:
        raise ValueError(f"{name} gives other bytes: for NumPy 2 the original needs pybind11 2.12 or newer")
    for batch in batches:
        read(batch)
    done, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        read(batches[done % len(batches)])
        done += 1
    return done * BATCH / took


def original(folder: Path) -> Any:
    """The original's C++ module, or None where it is not to be had."""
    built = os.environ.get("HAI_FFRECORD_ORIGINAL")
    if built is None:
        sources = os.environ.get("HAI_FFRECORD_SOURCES")
        if sources is None:
            return None
        say("compiling the original's reader")
        built = str(compiled(Path(sources) / "ffrecord" / "src", folder))
    spec = importlib.util.spec_from_file_location("_ffrecord_cpp", built)
    assert spec is not None, built
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(sources: Path, folder: Path) -> Path:
    """Compile it as its own build does (-O3, zlib and libaio)."""
    target = folder / f"_ffrecord_cpp{sysconfig.get_config_var('EXT_SUFFIX')}"
    headers = [sysconfig.get_path("include"), str(sources)]
    if spec := importlib.util.find_spec("pybind11"):
        headers.append(str(Path(str(spec.origin)).parent / "include"))
    command = ["c++", "-O3", "-shared", "-fPIC", "-std=c++17", "-w", *(f"-I{header}" for header in headers)]
    command += [*sorted(map(str, sources.glob("*.cpp"))), "-laio", "-lz", "-o", str(target)]
    subprocess.run(command, check=True)
    return target


def shown(size: int) -> str:
    """Bytes for a title."""
    return f"{size >> 20} MB" if size >> 20 else f"{size >> 10} KB"
