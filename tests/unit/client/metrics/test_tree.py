"""What the processes below this one use, compared with psutil."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: A process holds memory, and one below it computes when it is told to: both are quiet while figures are read.
COMPARED = """
import subprocess, sys, time, psutil
from hai_client.metrics.tree import TreeReader

BUSY = "print('up', flush=True); input(); x = sum(i for i in range(12_000_000)); print('done', flush=True); input()"
HOLDS = f'''
import subprocess, sys
x = bytearray(60 << 20)
subprocess.run([sys.executable, "-c", {BUSY!r}])
'''
holder = subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
reader = TreeReader()
holder.stdout.readline()
everyone = [psutil.Process(holder.pid), *psutil.Process(holder.pid).children(recursive=True)]
time_of = lambda: sum(process.cpu_times().user + process.cpu_times().system for process in everyone)
begin, before = time.monotonic(), time_of()
reader.read(begin)
holder.stdin.write(b"go\\n")
holder.stdin.flush()
holder.stdout.readline()
end = time.monotonic()
found = reader.read(end)
print(len(everyone), found["cpu"] * (end - begin), time_of() - before)
print(found["memory"], sum(process.memory_info().rss for process in everyone))
for process in reversed(everyone):
    process.kill()
"""

ENDED = """
import os, subprocess, sys, time
from hai_client.metrics.tree import TreeReader

reader = TreeReader()
begin = time.monotonic()
reader.read(begin)
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"])
end = time.monotonic()
print(reader.read(end)["cpu"] * (end - begin), os.times().children_user + os.times().children_system)
"""

FOUND = """
import subprocess, sys
from hai_client.metrics.tree import TreeReader

reader = TreeReader()
reader.read(0.0)
holds = f'{sys.executable} -c "x = bytearray(40 << 20); print(1, flush=True); input()"; true'
shell = subprocess.Popen(["sh", "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
shell.stdout.readline()
print(reader.read(1.0)["memory"])
shell.stdin.write(b"end\\n")
shell.stdin.close()
shell.wait()
print(reader.read(2.0)["memory"])
"""


def figures(code: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return [float(word) for word in done.stdout.split()]


def test_it_agrees_with_psutil() -> None:
    count, cpu, their_cpu, memory, their_memory = figures(COMPARED)
    assert count == 2
    assert their_cpu >= 0.1
    # Times are counted in ticks of 10 ms for each process.
    assert cpu == pytest.approx(their_cpu, rel=0.02, abs=0.03)
    assert memory > 60 << 20
    assert memory == pytest.approx(their_memory, rel=0.02)


def test_the_time_of_a_process_that_has_ended_is_not_lost() -> None:
    ours, theirs = figures(ENDED)
    assert ours == pytest.approx(theirs, abs=0.03)
    assert ours >= 0.3


def test_a_grandchild_is_found_between_two_scans_and_its_memory_goes_with_it() -> None:
    there, gone = figures(FOUND)
    assert there > 40 << 20
    assert gone == 0
