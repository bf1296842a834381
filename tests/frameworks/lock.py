"""Writes the locks of the frameworks: `make lock-frameworks`, from the ranges of `requirements.in`.

    python tests/frameworks/lock.py [OPTIONS OF uv pip compile, such as --upgrade]

PyTorch has one version in two builds. The one of the Python Package Index needs CUDA's libraries, gigabytes of them;
the other one, for CPUs, comes from a place of its own, or from a folder of wheels. Which of the two a machine gets is
decided by how its pip is set up. So there are three locks, all with hashes:

- `requirements.lock`: everything but what follows;
- `torch.lock`: PyTorch, with the hashes of both builds;
- `cuda.lock`: what the build of the index needs besides. `install.py` installs it only beside that build.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
#: The wheels for CPUs of the version that is locked (`pip download torch==VERSION --no-deps`, `pip hash FILE`), for
#: Python 3.11 on Linux with x86-64: there the tests run.
CPU_WHEELS = {"2.13.0": ("6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",)}
#: How the names of the packages begin that only the build with CUDA needs.
CUDA = ("nvidia-", "cuda-", "triton")
UV = ("pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--fork-strategy", "fewest")
PLAIN = ("--generate-hashes", "--no-annotate", "--no-emit-index-url", "--no-header")


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Each package of a lock: its name, and its lines."""
    for block in re.split(r"\n(?=\S)", text.strip()):
        yield re.split(r"[=\[ ]", block, maxsplit=1)[0], block + "\n"


def with_cpu_wheels(block: str) -> str:
    """The lines of PyTorch, with the hashes of its wheels for CPUs as well."""
    version = re.match(r"torch==([0-9.]+)", block)
    if version is None or version[1] not in CPU_WHEELS:
        raise SystemExit(f"no wheel for CPUs is known of {block.splitlines()[0]!r}; add its hash to CPU_WHEELS")
    return block.rstrip() + "".join(f" \\\n    --hash=sha256:{one}" for one in CPU_WHEELS[version[1]]) + "\n"


def split(resolved: str) -> dict[str, str]:
    """The three locks, by file name, of one resolution."""
    parts: dict[str, list[str]] = {"requirements.lock": [], "torch.lock": [], "cuda.lock": []}
    for name, block in blocks(resolved):
        if name == "torch":
            parts["torch.lock"].append(with_cpu_wheels(block))
        else:
            parts["cuda.lock" if name.startswith(CUDA) else "requirements.lock"].append(block)
    return {name: "".join(lines) for name, lines in parts.items()}


def main(options: Iterable[str]) -> None:
    """Resolve, and write the locks again. Versions that are locked stay, unless the options for uv say otherwise."""
    uv = Path(sys.executable).with_name("uv")
    known = HERE / "all.txt"
    locks = sorted(HERE.glob("*.lock"))
    try:
        # uv keeps the versions of the file that it writes to; the hashes for CPUs are none of the index's.
        pinned = [line for lock in locks for line in lock.read_text().splitlines() if not line.startswith(" ")]
        known.write_text("".join(line.rstrip(" \\") + "\n" for line in pinned))
        subprocess.run([uv, *UV, *PLAIN, "requirements.in", *options, "-o", known.name], cwd=HERE, check=True)
        for name, text in split(known.read_text()).items():
            (HERE / name).write_text(text)
    finally:
        known.unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1:])
