"""The parts: what must pass, in which order, beside what, and what each needs of the machine.

What mostly waits goes on beside what computes: all of it takes about half an hour on two cores, as fast as they are,
and a quarter more with empty caches. Installing leaves a core free for the Kubernetes, which is built for minutes, the
first time; frameworks and docs give way to checks and tests. What runs beside the tests on Kubernetes gives way to it:
kubelets that do not come to their turn are lost nodes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from ci import machine
from ci.parts import Part

ENTRY = ".ci/run"
#: Real processes: a test that fails is run once more.
AGAIN = (ENTRY, "again", "make")
#: A Python that ends looks for garbage once more, in all that a framework has imported: a fifth of what a rank costs.
#: Here it does not, so make frameworks-table takes no times of such a run.
SHORT_ENDS = """make "$1/.installed" FRAMEWORKS="$1"
for packages in "$1"/lib/python3*/site-packages/; do
  [ ! -d "$packages" ] || echo "import atexit, gc; atexit.register(gc.freeze)" >"$packages/hai_short_ends.pth"
done"""
#: pytest compiles each file of tests when it first reads it: once here, where each worker would do it again. What
#: cannot be read is told by the tests.
COMPILE = ".venv/bin/pytest -qq --collect-only -p no:cacheprovider tests >/dev/null 2>&1 || true"


def table(settings: Path, frameworks: Path) -> tuple[Part, ...]:
    """The parts, each behind those that it comes after.

    Args:
        settings: The file in which what brings the Kubernetes up tells the others.
        frameworks: The environment of other people's frameworks.
    """
    kubernetes = (ENTRY, "kubernetes")
    file, installed = str(settings), ("programs", "install")
    # apt installs for one caller at a time; `make helm` brings a kubectl where there is none.
    first = ("programs",) if shutil.which("kubectl") else installed
    return (
        Part("programs", (ENTRY, "programs"), beside=True),
        Part("kubernetes-up", (*kubernetes, "up", file), first, beside=True, needs=("kubernetes",)),
        Part("install", ("make", "install", "helm", ".venv/.node")),
        Part(
            "images",
            (*kubernetes, "images", file),
            ("kubernetes-up", "install"),
            beside=True,
            needs=("cluster", "root", "debian", "clone"),
            nice=15,
        ),
        Part("frameworks-install", ("bash", "-ec", SHORT_ENDS, "-", str(frameworks)), installed, beside=True, nice=15),
        Part("docs", ("make", "docs"), installed, beside=True, nice=15),
        Part("compile", ("bash", "-c", COMPILE), installed, beside=True, nice=10),
        # An idle cluster takes a sixteenth of a core: it goes down with its tests.
        Part("kubernetes", (*kubernetes, "test", file), ("images",), beside=True, needs=("kubernetes",)),
        Part(
            "images-twice",
            (".ci/images", "--twice"),
            ("kubernetes",),
            beside=True,
            needs=("cluster", "root", "debian", "clone"),
            nice=15,
        ),
        # Everything is killed at random for a minute: it fails on what was lost, doubled or done again, never on time.
        Part("chaos", ("make", "chaos", "ARGS=--minutes 1 --seed 42"), ("kubernetes",), beside=True, nice=10),
        Part("check", ("make", "check"), installed),
        Part(
            "e2e",
            (*AGAIN, "e2e", "AT_ONCE=3"),
            ("check", "compile", "frameworks-install", "docs"),
            uses=("chromium",),
            nice=10,
        ),
        Part(
            "upgrade",
            (*AGAIN, "test-upgrade"),
            ("e2e",),
            needs=("last release",),
            uses=("postgresql",),
            nice=10,
        ),
        Part("frameworks", (*AGAIN, "test-frameworks", f"FRAMEWORKS={frameworks}"), ("upgrade",), nice=10),
        Part(
            "test-parts",
            (*AGAIN, "test-parts", "AT_ONCE=5"),
            ("frameworks",),
            uses=("postgresql", "registry", "squashfs"),
            nice=10,
        ),
    )


def frameworks() -> Path:
    """The environment of other people's frameworks: it is kept for as long as its locks and the Python are the same."""
    tests = machine.ROOT / "tests" / "frameworks"
    made_of = [*sorted(tests.glob("*.lock")), tests / "install.py"]
    text = b"".join(path.read_bytes() for path in made_of) + os.environ.get("PYTHON", "").encode() + b"\n"
    return machine.cache() / f"hai-frameworks-{hashlib.sha256(text).hexdigest()[:16]}"


def keep(environment: Path) -> None:
    """Remove the others, and make this one newer than the files of a clone: make looks at times."""
    for other in environment.parent.glob("hai-frameworks-*"):
        if other != environment:
            shutil.rmtree(other)
    if (environment / ".installed").exists():
        (environment / ".installed").touch()
