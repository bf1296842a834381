"""The order of .ci/run, with stand-ins of what it starts: it fails with any of its parts and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from kit.waiting import wait_for

ROOT = Path(__file__).parents[3]
SOON_S = 120.0
#: Notes what it was asked for; fails where it is told to, and waits where it is told to.
MAKE = """#!/bin/bash
echo "make $1" >>"$CALLS"
echo "policies: ${HAI_TEST_POLICIES:-no}" >"$CALLS.$1"
[ "$WAITS" != "make $1" ] || { trap 'echo "make $1 cleans up" >>"$CALLS"; exit 1' INT; while :; do sleep 0.05; done; }
case "$FAILS" in "make $1") exit 3 ;; esac
"""
CLUSTER = """#!/bin/bash
echo "cluster $1" >>"$CALLS"
case "$1" in up) echo "$HAI_K8S_WITH" | tee "$CALLS.up" >"$CALLS.with" ;; down) rm "$CALLS.up" ;; esac
[ "$FAILS" != "cluster $1" ]
"""
IMAGES = """#!/bin/bash
echo images >>"$CALLS"
echo "HAI_TEST_CHART_VALUES=values.yaml"
[ "$FAILS" != images ]
"""
PYTEST = """#!/bin/bash
echo "pytest $2" >>"$CALLS"
"""
KUBECTL = '#!/bin/bash\n[ -e "$CALLS.up" ]\n'
NOTHING = "#!/bin/bash\n"
ORDER = ["make install", "make check", "make e2e", "make test-upgrade", "make test-frameworks", "make test-parts"]
BESIDE = ["make docs", "make test-kubernetes", "make chaos"]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the program, and stand-ins of all that it calls."""
    made = tmp_path / "clone"
    for folder in ("tests/frameworks", ".ci", ".git", ".venv/bin", "../bin"):
        (made / folder).mkdir(parents=True)
    for name in ("a.lock", "install.py"):
        (made / "tests" / "frameworks" / name).touch()
    shutil.copy(ROOT / ".ci" / "run", made / ".ci" / "run")
    shutil.copytree(ROOT / "tools" / "ci", made / "tools" / "ci")
    (made / "tests" / "upgrade").mkdir()
    shutil.copy(ROOT / "tests" / "upgrade" / "last_release.toml", made / "tests" / "upgrade")
    stand_ins = {".ci/images": IMAGES, ".venv/bin/pytest": PYTEST, "cluster": CLUSTER}
    stand_ins |= {"../bin/make": MAKE, "../bin/kubectl": KUBECTL}
    stand_ins |= dict.fromkeys(["../bin/chromium", "../bin/mksquashfs", "../bin/apt-get", "../bin/git"], NOTHING)
    for name, text in stand_ins.items():
        (made / name).write_text(text)
        (made / name).chmod(0o755)
    # What the tests train with is kept between runs.
    (made / "cache" / "hai-training-3.11").mkdir(parents=True)
    (made / "cache" / "hai-training-3.11" / "complete").touch()
    return made


def environment(clone: Path, **more: str) -> dict[str, str]:
    env = os.environ | {
        "PATH": f"{clone.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "CALLS": str(clone / "calls"),
    }
    env |= {"FAILS": "", "WAITS": "", "XDG_CACHE_HOME": str(clone / "cache"), "TMPDIR": str(clone.parent)}
    env |= {"HAI_CLUSTER": str(clone / "cluster"), "HAI_K8S_DIR": str(clone / "k8s")}
    for name in ("HAI_K8S_WITH", "KUBECONFIG"):
        env.pop(name, None)
    return env | more


def calls_of(clone: Path) -> list[str]:
    path = clone / "calls"
    return path.read_text().splitlines() if path.exists() else []


def run(clone: Path, *words: str, **more: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """What the program said, and what it has called in which order."""
    done = subprocess.run(
        ["bash", clone / ".ci" / "run", *words], env=environment(clone, **more), capture_output=True, text=True,
        timeout=SOON_S, check=False,
    )  # fmt: skip
    return done, calls_of(clone)


def test_everything_is_called_in_its_order_and_the_cluster_is_taken_down_after_its_tests(clone: Path) -> None:
    done, calls = run(clone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [call for call in calls if call in ORDER] == ORDER
    cluster = [f"cluster {verb}" for verb in ("build", "up", "gpus", "python-image")]
    after = ["make test-kubernetes", "cluster down", "make chaos"]
    assert [call for call in calls if call in [*cluster, *after]] == [*cluster, *after]
    assert calls.index("make install") < min(map(calls.index, [*BESIDE, "pytest --collect-only"]))
    # The images are made by root alone, and one of them twice more, beside the last parts.
    made = ["images"] if os.getuid() == 0 else []
    assert [call for call in calls if call in ("cluster python-image", "images", "make test-kubernetes")] == [
        "cluster python-image", *made, "make test-kubernetes", *made,
    ]  # fmt: skip
    assert "Tests that were repeated: 0" in done.stdout


@pytest.mark.parametrize("fails", [*ORDER, *BESIDE])
def test_any_part_that_fails_fails_it_and_the_cluster_is_taken_down(clone: Path, fails: str) -> None:
    done, calls = run(clone, FAILS=fails)
    assert done.returncode != 0
    assert "FAILED" in done.stdout
    assert calls.count("cluster down") == calls.count("cluster up")


@pytest.mark.parametrize("fails", ["cluster build", "cluster up", "cluster python-image"])
def test_a_cluster_that_cannot_be_had_is_skipped_and_said(clone: Path, fails: str) -> None:
    done, calls = run(clone, FAILS=fails)
    assert done.returncode == 0, done.stdout
    _, _, unproven = done.stdout.partition("== not proven on this machine\n")
    assert "kubernetes-up: skipped, " in unproven
    assert "make test-kubernetes" not in calls
    assert "make chaos" in calls
    assert calls.count("cluster down") == calls.count("cluster up")


@pytest.mark.skipif(os.getuid() != 0, reason="the images are made by root alone")
def test_images_that_cannot_be_built_fail_it(clone: Path) -> None:
    done, calls = run(clone, FAILS="images")
    assert done.returncode != 0
    assert "== images FAILED" in done.stdout
    assert calls.count("cluster down") == 1


def test_without_a_kubernetes_its_parts_are_skipped_and_named(clone: Path) -> None:
    done, calls = run(clone, HAI_CLUSTER=str(clone / "none"))
    assert done.returncode == 0, done.stdout
    _, _, unproven = done.stdout.partition("== not proven on this machine\n")
    for name in ("kubernetes-up", "images", "kubernetes"):
        assert f"{name}: skipped, no " in unproven
    assert "make test-kubernetes" not in calls
    assert "make chaos" in calls


def test_a_cluster_of_kubeconfig_is_used_as_it_is(clone: Path) -> None:
    (clone / "calls.up").touch()
    done, calls = run(clone, "--only", "kubernetes-up", "kubernetes", HAI_CLUSTER="", KUBECONFIG="mine")
    assert done.returncode == 0, done.stdout
    assert calls == ["make test-kubernetes"]


@pytest.mark.parametrize(
    ("given", "brought_up_with", "tried"),
    [(None, "dns storage policies strict", "yes"), ("dns policies", "dns policies", "yes"), ("dns", "dns", "no")],
)
def test_the_cluster_holds_policies_unless_told_otherwise_and_the_tests_know(
    clone: Path, given: str | None, brought_up_with: str, tried: str
) -> None:
    done, _ = run(clone, "--only", "kubernetes-up", "kubernetes", **({"HAI_K8S_WITH": given} if given else {}))
    assert done.returncode == 0, done.stdout
    assert (clone / "calls.with").read_text() == f"{brought_up_with}\n"
    assert (clone / "calls.test-kubernetes").read_text() == f"policies: {tried}\n"


def test_a_cluster_that_was_up_stays_up(clone: Path) -> None:
    (clone / "calls.up").touch()
    done, calls = run(clone, "--only", "kubernetes-up", "kubernetes")
    assert done.returncode == 0, done.stdout
    assert calls == ["cluster gpus", "cluster python-image", "make test-kubernetes"]
    assert (clone / "calls.test-kubernetes").read_text() == "policies: no\n"


@pytest.mark.parametrize("waits", ["make check", "make test-kubernetes"])
@pytest.mark.parametrize("whom", ["all", "the program"])
def test_ctrl_c_interrupts_all_parts_and_what_they_clean_up_is_waited_for(clone: Path, waits: str, whom: str) -> None:
    with subprocess.Popen(
        ["bash", clone / ".ci" / "run"], env=environment(clone, WAITS=waits), stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        wait_for("the part to begin", lambda: waits in calls_of(clone))
        # As a terminal does it, to all in the foreground, or as a program that ends another.
        (os.killpg if whom == "all" else os.kill)(process.pid, signal.SIGINT if whom == "all" else signal.SIGTERM)
        said, _ = process.communicate(timeout=SOON_S)
    calls = calls_of(clone)
    assert process.returncode != 0
    assert f"{waits} cleans up" in calls
    assert calls.count("cluster down") == calls.count("cluster up")
    if waits == "make test-kubernetes":
        assert calls.index(f"{waits} cleans up") < calls.index("cluster down")
    assert said.splitlines()[-1].startswith("== .ci/run ended after")


def test_parts_by_name_and_their_list(clone: Path) -> None:
    done, calls = run(clone, "--only", "check")
    assert (done.returncode, calls) == (0, ["make check"]), done.stderr
    done, _ = run(clone, "--only", "chek")
    assert (done.returncode, "no part chek" in done.stdout) == (2, True)
    done, calls = run(clone, "--list")
    assert (done.returncode, calls) == (0, ["make check"])
    assert {line.split()[0] for line in done.stdout.splitlines()} > {"install", "check", "test-parts"}
