"""How fast environments are built, listed and frozen, beside uv and pip alone. PyTorch for CPUs is what is installed.

The cache of uv is warm: what is compared is the work after everything has been fetched once. `HAIENV_BENCH_LINKS` names
a folder with the wheel of PyTorch for CPUs, where the index has another one (it is UV_FIND_LINKS otherwise).

uv, pip and haienv have a cache of their own below one folder, so that a file system that is slow is slow for all.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench.figures import Report, say
from haienv.building.builder import remove_tree
from haienv.building.uv import find
from haienv.store import manifest as manifests
from haienv.store.layout import EnvFolder
from haienv.store.names import USERS, EnvName, Owner

ROOT = Path(__file__).parents[2]
PACKAGES = ("numpy", "ipykernel")
WHERE_TORCH_IS = "HAIENV_BENCH_LINKS"
#: How often uv and haienv build in turn; the median counts.
ROUNDS = 3
ENVIRONMENTS = 200
LISTINGS = 7
USER = "ann"
#: Code with which Python reports every process that it starts, and every other program that takes its place.
_WATCH = """
import sys
def watch(event, words):
    if event in ("subprocess.Popen", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.system"):
        sys.stderr.write("STARTED " + event + "\\n")
sys.addaudithook(watch)
from haienv.cli import main
sys.exit(main(sys.argv[1:]))
"""


def measure(report: Report, rounds: int = ROUNDS) -> None:
    """Building, disk, listing and freezing."""
    torch = _requirement()
    with _place() as place:
        env = _environ(place)
        if torch is None:
            report.skip(
                "building environments with PyTorch",
                f"no wheel of PyTorch for CPUs: set {WHERE_TORCH_IS} to a folder that has one",
            )
        else:
            _building(report, place, env, [torch, *PACKAGES], rounds)
        _listing(report, place, env)
        if torch is not None:
            _freezing(report, env)


def _requirement() -> str | None:
    """The requirement for PyTorch for CPUs; None: there is no wheel of it."""
    folder = Path(_find_links())
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    found = sorted(folder.glob(f"torch-*+cpu-{tag}-{tag}-*.whl"))
    return f"torch=={found[-1].name.split('-')[1]}" if found else None


def _find_links() -> str:
    """The folder with wheels that the index does not have."""
    return os.environ.get(WHERE_TORCH_IS) or os.environ.get("UV_FIND_LINKS") or "/opt/wheels"


@contextmanager
def _place() -> Iterator[Path]:
    """A folder on the file system of the checkout: /tmp may be another one, in memory."""
    folder = Path(tempfile.mkdtemp(prefix="haienv-bench-", dir=os.environ.get("HAIENV_BENCH_PLACE")))
    try:
        yield folder
    finally:
        remove_tree(folder)


def _environ(place: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HAIENV", "VIRTUAL_ENV"))}
    # haienv is compiled where it is installed.
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    links = _find_links()
    return kept | {
        "HAIENV_ROOT": str(place / "root"),
        "HAIENV_USER": USER,
        "HAIENV_GROUPS": "",
        # Many builds share one cache of wheels; what is fetched by this study goes into a cache of its own.
        "UV_CACHE_DIR": str(place / "uv"),
        "UV_FIND_LINKS": links,
        "PIP_FIND_LINKS": links,
        "PIP_CACHE_DIR": str(place / "pip"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        # All three take packages from the same places.
        "PIP_CONFIG_FILE": os.devnull,
        "PYTHONPATH": str(ROOT / "haienv"),
    }


def _run(env: Mapping[str, str], *words: str) -> tuple[float, str]:
    """Run a program that must succeed; seconds, and its output."""
    began = time.perf_counter()
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words[:6])} ...: {done.stderr[-2000:]}")
    return took, done.stdout


def _haienv(env: Mapping[str, str], *words: str) -> tuple[float, str]:
    return _run(env, sys.executable, "-m", "haienv", *words)


def _create(env: Mapping[str, str], name: str, packages: list[str]) -> float:
    return _haienv(env, "create", name, "--no-kernel", "-p", sys.executable, *packages)[0]


def _building(report: Report, place: Path, env: Mapping[str, str], packages: list[str], rounds: int) -> None:
    topic = f"An environment of {', '.join(packages)}, warm cache"
    say("haienv: filling the cache")
    cold = _create(env, "first", packages)
    uv, ours, uv_cpu, cpu, offline = [], [], [], [], {**env, "UV_OFFLINE": "1"}
    program = find(os.environ)
    for at in range(rounds):
        say(f"haienv: uv and haienv in turn, {at + 1} of {rounds}")
        ticks = [_processor()]
        uv.append(_with_uv(offline, program, place / f"uv-{at}", packages))
        ticks.append(_processor())
        before = _disk(place / "root")
        ours.append(_create(offline, f"turn-{at}", packages))
        uv_cpu.append(ticks[1] - ticks[0])
        cpu.append(_processor() - ticks[1])
        added = _disk(place / "root") - before
    equal = _with_uv(offline, program, place / "uv-compiled", packages, "--compile-bytecode")
    first = _after_forgetting(place, offline, packages)
    say("haienv: pip, its cache filled first")
    _with_pip(env, place / "pip-first", packages[1:])
    pip = _with_pip(env, place / "pip-measured", packages)
    made = manifests.read(_env(env, "turn-0").generations()[-1].manifest)
    used = [f"{statistics.median(one):.2f} s of the processor" for one in (uv_cpu, cpu)]
    report.add(topic, "uv alone", statistics.median(uv), "s", f"{made.files:,} files, {made.size >> 20} MB; {used[0]}")
    report.add(topic, "haienv create", statistics.median(ours), "s", f"compiled, sealed, with its digest; {used[1]}")
    ratio = statistics.median(one / other for one, other in zip(ours, uv, strict=True))
    report.add(topic, "haienv to uv alone", ratio, "x", at_most=1.5)
    ratio = statistics.median(one / other for one, other in zip(cpu, uv_cpu, strict=True))
    report.add(topic, "the same in time of the processor", ratio, "x", "both with making the venv")
    report.add(topic, "uv with --compile-bytecode", equal, "s", "what it leaves is compiled, as what haienv leaves is")
    report.add(topic, "haienv to that", statistics.median(ours) / equal, "x")
    report.add(topic, "haienv, first one with a cache", first, "s", "compiles all, and reads all for the digest")
    report.add(topic, "haienv, nothing cached", cold, "s", "with the time to fetch")
    report.add(topic, "pip into a fresh venv", pip, "s", "its cache warm")
    report.add(topic, "haienv to pip", statistics.median(ours) / pip, "x", at_most=0.2)
    report.add(topic, "disk of a further one", added / made.size * 100, "%", f"{added / 1e6:.1f} MB", at_most=2.0)


def _processor() -> float:
    """Seconds of the processor that the programs that have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _with_uv(env: Mapping[str, str], program: str, folder: Path, packages: list[str], *more: str) -> float:
    _run(env, program, "venv", "--quiet", "--python", sys.executable, str(folder))
    took, _ = _run(
        env, program, "pip", "install", "--quiet", "--link-mode", "hardlink",
        "--python", str(folder / "bin" / "python"), *more, *packages,
    )  # fmt: skip
    remove_tree(folder)
    return took


def _with_pip(env: Mapping[str, str], folder: Path, packages: list[str]) -> float:
    venv, _ = _run(env, sys.executable, "-m", "venv", str(folder))
    took, _ = _run(env, str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *packages)
    remove_tree(folder)
    return venv + took


def _after_forgetting(place: Path, env: Mapping[str, str], packages: list[str]) -> float:
    """Build where uv's cache is warm, and haienv's own part of it is empty."""
    remove_tree(place / "uv" / "haienv")
    return _create(env, "again", packages)


def _disk(top: Path) -> int:
    """Bytes on disk of a tree, every inode once."""
    seen: set[int] = set()
    total = 0
    for folder, folders, files in os.walk(top):
        for name in [*folders, *files]:
            facts = os.lstat(os.path.join(folder, name))  # noqa: PTH118  tens of thousands of paths
            if facts.st_ino not in seen:
                seen.add(facts.st_ino)
                total += facts.st_blocks * 512
    return total


def _env(env: Mapping[str, str], name: str) -> EnvFolder:
    return EnvFolder(Path(env["HAIENV_ROOT"]), EnvName(Owner(USERS, USER), name))


def _freezing(report: Report, env: Mapping[str, str]) -> None:
    """Freezing a draft, with a change and without one."""
    topic = "Freezing a draft with PyTorch"
    help_text = _haienv(env, "--help")[1]
    if "freeze" not in help_text or "draft" not in help_text:
        report.skip(topic, "this haienv has no verb freeze")
        return
    say("haienv: freezing")
    made = manifests.read(_env(env, "turn-0").generations()[-1].manifest)
    _haienv(env, "draft", "turn-0")
    place = Path(json.loads(_haienv(env, "show", "turn-0", "--json")[1])["prefix"]).parents[2] / "draft" / "prefix"
    [packages] = place.glob("lib/python3*/site-packages")
    (packages / "own_module.py").write_text("X = 1\n")
    changed, _ = _haienv(env, "freeze", "turn-0")
    unchanged, out = _haienv(env, "freeze", "turn-0")
    report.add(topic, "one file is new", changed, "s", f"{made.files:,} files", at_most=4.0)
    report.add(topic, "nothing is new", unchanged, "s", out.strip().splitlines()[-1] if out.strip() else "")


def _listing(report: Report, place: Path, env: Mapping[str, str]) -> None:
    topic = f"haienv list of {ENVIRONMENTS} environments"
    say(topic)
    listed = {**env, "HAIENV_ROOT": str(place / "many")}
    _many(Path(listed["HAIENV_ROOT"]))
    script = _script(place)
    took = []
    for _ in range(LISTINGS):
        seconds, out = _run(listed, str(script), "list")
        assert len(out.splitlines()) == ENVIRONMENTS + 1, out[-500:]
        took.append(seconds)
    started = statistics.median(_run(listed, sys.executable, "-c", "")[0] for _ in range(LISTINGS))
    report.add(topic, "the command, from the shell", statistics.median(took) * 1000, "ms", at_most=200)
    report.add(topic, "of that, an empty Python", started * 1000, "ms")
    done = subprocess.run(
        [sys.executable, "-c", _WATCH, "list"], env=listed, capture_output=True, text=True, check=True
    )
    report.add(topic, "processes that it starts", done.stderr.count("STARTED "), "", at_most=0)


def _script(place: Path) -> Path:
    """The command as it is installed: its script looks for Python beside itself."""
    folder = place / "bin"
    folder.mkdir()
    shutil.copy(ROOT / "haienv" / "scripts" / "haienv", folder / "haienv")
    (folder / "haienv").chmod(0o755)
    python = Path(sysconfig.get_path("scripts")) / "python"
    (folder / "python").write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
    (folder / "python").chmod(0o755)
    return folder / "haienv"


def _many(root: Path) -> None:
    """Environments of which only the manifests are there, as listing reads nothing else."""
    for at in range(ENVIRONMENTS):
        env = EnvFolder(root, EnvName(Owner(USERS, USER), f"env-{at:03}"))
        generation = env.generation(1)
        generation.folder.mkdir(parents=True)
        replace(SAMPLE, name=str(env.name)).write(generation.manifest)
        env.current_link.symlink_to("generations/1")


#: What the manifest of an environment of which nothing else counts says.
SAMPLE = manifests.Manifest(
    name="", generation=1, digest=f"sha256:{'0' * 64}", files=24_000, size=877_000_000, lock=f"sha256:{'0' * 64}",
    python="3.11.7", interpreter="/usr/bin/python3.11", machine="x86_64", glibc="2.28", cuda=None, extends=None,
    extends_digest=None, requirements=("torch", "numpy", "timm==1.0.20"), built_by=USER,
    built_at="2026-01-01T00:00:00Z", kernel=True,
)  # fmt: skip
