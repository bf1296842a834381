"""How fast samples are read: from FFRecord files by us and by the original's C++ reader, and from a file each.

The original is measured where `HAI_FFRECORD_ORIGINAL` names its `_ffrecord_cpp.*.so`, or `HAI_FFRECORD_SOURCES` a
checkout of it, which is then compiled (a C++ compiler, zlib, libaio and pybind11 2.12 or newer must be there). It has
no settings: a batch is one `io_submit` of all its samples by libaio (at most 4,096), without O_DIRECT outside of 3FS,
into memory of its own for each sample, and zlib's CRC32 in the thread that calls. It has no pool of threads.

Each reader has a process of its own, because what one allocates changes how the allocator serves the next. They take
turns of some batches, the same random ones for all, and the order of the turns is reversed every other round. The
files are in the page cache: what is compared is the work of reading, not a disk.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sysconfig
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.figures import Report, say
from hai_ffrecord import FileReader, FileWriter, checksums

#: Bytes of a sample: how many of them there are, and how many times the original's samples a second are aimed at.
SIZES = {1 << 10: (20_000, 0.9), 110 << 10: (2_000, 2.0), 1 << 20: (256, 2.0)}
BATCH = 64
#: Turns of each reader, and about how many seconds a turn takes; the median of the turns counts.
ROUNDS = 61
SECONDS = 0.01
#: Seconds of turns after which a size is done, even with fewer rounds: the machine is busy with other things.
ENOUGH_S = 15.0
BATCHES = 200
#: The most batches in one turn.
LONGEST = 50
OURS, THEIRS, PLAIN = "hai_ffrecord", "original (C++, AIO)", "a file each, zlib"
#: Turns of the reader of plain files, which is much slower and only shown, are shorter by this factor.
SHORTER = 8

Read = Callable[[Sequence[int]], object]
#: Makes a reader, in the process that reads.
Make = Callable[[], Read]
Batches = Sequence[Sequence[int]]


@dataclass
class Turns:
    """The times of one reader's turns, in seconds a sample."""

    wall: list[float] = field(default_factory=list)
    #: Processor time of all threads together.
    processor: list[float] = field(default_factory=list)


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
            found, read = in_turn(contenders(place, size, count, theirs), count, rounds, seconds)
            _add(report, shown(size), aim, found, f"{len(found[OURS].wall)} turns of {read} samples")
            shutil.rmtree(place)


def _add(report: Report, size: str, aim: float, found: Mapping[str, Turns], turns: str) -> None:
    topic = f"FFRecord, samples of {size}, batches of {BATCH}, warm"
    for name, taken in found.items():
        report.add(topic, name, 1 / statistics.median(taken.wall), "/s", turns if name == OURS else "")
        if name == OURS and THEIRS in found:
            other = found[THEIRS]
            report.add(topic, f"{OURS} to the original", _ratio(other.wall, taken.wall), "x", at_least=aim)
            processor = _ratio(other.processor, taken.processor)
            report.add(topic, f"{OURS} to the original", processor, "x", "by processor time")
            # Other work on the machine makes turns longer, never shorter.
            fastest = min(other.wall) / min(taken.wall)
            report.add(topic, f"{OURS} to the original", fastest, "x", "by the fastest turn of each")


def _ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """How many times as fast `ours` is: the median over rounds, because both run under the same load in a round."""
    return statistics.median(other / one for other, one in zip(theirs, ours, strict=True))


def contenders(place: Path, size: int, count: int, theirs: Any) -> dict[str, Make]:
    """The readers of the same samples, by name, with the original if it is available."""
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

    readers: dict[str, Make] = {
        OURS: lambda: FileReader(path).read,
        f"{OURS}, one thread": lambda: FileReader(path, threads=1).read,
        f"{OURS}, no checksums": lambda: FileReader(path, check_data=False).read,
        PLAIN: lambda: small_files,
    }
    if theirs is not None:
        readers[THEIRS] = lambda: theirs.FileReader([str(path)], True).read
        readers["original, no checksums"] = lambda: theirs.FileReader([str(path)], False).read
    return readers


def in_turn(readers: Mapping[str, Make], count: int, rounds: int, seconds: float) -> tuple[dict[str, Turns], int]:
    """Let the readers read in turn; returns the times of each, and the number of samples of a turn."""
    rng = random.Random(1)
    batches = [[rng.randrange(count) for _ in range(BATCH)] for _ in range(BATCHES)]
    found = {name: Turns() for name in readers}
    with ExitStack() as stack:
        turns = {name: stack.enter_context(_process(name, make, batches)) for name, make in readers.items()}
        # The first turn is slower and does not count.
        once = min(min(turn(0, 1)[0] for _ in range(3)) for turn in turns.values())
        many = max(1, min(LONGEST, round(seconds / once)))
        began = time.monotonic()
        for at in range(rounds):
            for name in list(readers) if at % 2 else reversed(list(readers)):
                batches_ = max(1, many // SHORTER) if name == PLAIN else many
                wall, processor = turns[name](at * many, batches_)
                found[name].wall.append(wall / batches_ / BATCH)
                found[name].processor.append(processor / batches_ / BATCH)
            if time.monotonic() - began > ENOUGH_S and at % 2:
                break
    return found, many * BATCH


@contextmanager
def _process(name: str, make: Make, batches: Batches) -> Iterator[Callable[[int, int], tuple[float, float]]]:
    """A reader in a process of its own, as a function of the first batch and the number of batches.

    The function returns seconds of wall time and seconds of processor time.
    """
    context = multiprocessing.get_context("fork")
    ours, its = context.Pipe()
    child = context.Process(target=_serve, args=(its, ours, name, make, batches))
    child.start()
    its.close()

    def turn(first: int, many: int) -> tuple[float, float]:
        ours.send((first, many))
        wall, processor = ours.recv()
        return wall, processor

    try:
        yield turn
    finally:
        ours.close()
        child.join()


def _serve(its: Any, ours: Any, name: str, make: Make, batches: Batches) -> None:
    ours.close()
    read = make()
    _agree(name, read, batches[0])
    while True:
        try:
            first, many = its.recv()
        except EOFError:
            # Exit without the parent's cleanup at exit.
            os._exit(0)
        its.send(_turn(read, [batches[at % len(batches)] for at in range(first, first + many)]))


def _agree(name: str, read: Read, batch: Sequence[int]) -> None:
    given: Any = read(batch)
    again: Any = [read([index])[0] for index in batch]  # type: ignore[index]
    if [bytes(one) for one in given] != [bytes(one) for one in again]:
        raise ValueError(f"{name} gives other bytes: for NumPy 2 the original needs pybind11 2.12 or newer")


def _turn(read: Read, batches: Batches) -> tuple[float, float]:
    began, processor = time.perf_counter(), time.process_time()
    for batch in batches:
        read(batch)
    return time.perf_counter() - began, time.process_time() - processor


def original(folder: Path) -> Any:
    """The original's C++ module; None where it is not available."""
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
    """Compile the original's module as its own build does (-O3, zlib and libaio); returns its path."""
    target = folder / f"_ffrecord_cpp{sysconfig.get_config_var('EXT_SUFFIX')}"
    headers = [sysconfig.get_path("include"), str(sources)]
    if spec := importlib.util.find_spec("pybind11"):
        headers.append(str(Path(str(spec.origin)).parent / "include"))
    command = ["c++", "-O3", "-shared", "-fPIC", "-std=c++17", "-w", *(f"-I{header}" for header in headers)]
    command += [*sorted(map(str, sources.glob("*.cpp"))), "-laio", "-lz", "-o", str(target)]
    subprocess.run(command, check=True)
    return target


def shown(size: int) -> str:
    """A number of bytes as text for a title."""
    return f"{size >> 20} MB" if size >> 20 else f"{size >> 10} KB"
