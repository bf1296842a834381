"""The real Kubernetes of the tests.

`up` brings it up, `images` hands the chart's images to it, `test` runs the tests and takes it down. What one finds out
for the next is in SETTINGS: variables of the environment, and whether the cluster is to be taken down.

A cluster that KUBECONFIG names is used as it is. Another is brought up by a program (`ci.machine.cluster`) with the
verbs `build`, `up NODES`, `gpus A_NODE`, `python-image` (it makes registry.local/python:1), `import ARCHIVE`, `down`.
HAI_K8S_WITH tells it what the cluster has beside Kubernetes itself: by default names (`dns`), volumes for claims
(`storage`) and network policies that hold (`policies`), also for a pod that asks itself by a Service (`strict`).
Its state, with pki/admin.kubeconfig, is in HAI_K8S_DIR, else in ~/.cache/hai-k8s; its nodes see the files of this
machine. One that is up before is used as it is, with whatever nodes it has, and stays up; its policies are tried if
HAI_K8S_WITH names them. What was built stays in caches: only the first time takes minutes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ci import again, machine
from ci.parts import SKIPPED, call, finish, say

LOG = machine.ROOT / "kubernetes.log"
#: Its nodes, and the GPUs that each says to have.
NODES, GPUS = 2, 4
#: What it has beside Kubernetes itself. Networks differ in `strict`: what works with it works without.
WITH = "dns storage policies strict"
NICE = ("nice", "-n", "15")
#: What trains in pods, for the Python of the image of the tests.
TRAINING = ("numpy>=2,<3", "scikit-learn>=1.6,<2")


class Unusable(Exception):
    """The cluster cannot be had here; the message says why."""


def up(settings: Path) -> None:
    """Bring the cluster up, or look that the one of KUBECONFIG answers.

    Raises:
        Unusable: It does not come up, or does not answer.
    """
    LOG.write_text("")
    program = machine.cluster()
    if program is None:
        if not _answers():
            raise Unusable(f"the Kubernetes of KUBECONFIG ({os.environ.get('KUBECONFIG')}) does not answer")
        _write(settings, {"env": {}})
        return
    state = Path(os.environ.get("HAI_K8S_DIR") or Path.home() / ".cache" / "hai-k8s")
    os.environ["KUBECONFIG"] = str(state / "pki" / "admin.kubeconfig")
    ours = not _answers()
    if ours:
        os.environ.setdefault("HAI_K8S_WITH", WITH)
        _cluster(*NICE, program, "build")
        # Images of an earlier tree, which each node would load when it starts.
        (state / "images" / "hai-images.tar").unlink(missing_ok=True)
    try:
        if ours:
            _cluster(program, "up", NODES)
        _cluster(program, "gpus", GPUS)
        _cluster(program, "python-image")
    except BaseException:
        if ours:
            _log(program, "down")
        raise
    env = {"KUBECONFIG": os.environ["KUBECONFIG"], "HAI_TEST_IMAGE": "registry.local/python:1"}
    if "policies" in os.environ.get("HAI_K8S_WITH", "").split():
        env["HAI_TEST_POLICIES"] = "yes"
    _write(settings, {"env": env, "program": str(program), "down": ours})


def images(settings: Path) -> int:
    """Build the chart's images and hand them to the cluster: one that cannot be built is a fault of the tree."""
    found = _read(settings)
    with tempfile.TemporaryFile("w+") as said:
        status = call([machine.ROOT / ".ci" / "images", found["program"]], env=os.environ | found["env"], stdout=said)
        said.seek(0)
        if status:
            return status
        found["env"] |= dict(line.rstrip().split("=", 1) for line in said)
    _write(settings, found)
    return 0


def test(settings: Path) -> int:
    """Run the tests, and take the cluster down."""
    found = _read(settings)
    try:
        os.environ.update(found["env"] | (_training() if "program" in found else {}))
        return again.run(["make", "test-kubernetes"])
    finally:
        down(settings)


def down(settings: Path) -> None:
    """Take the cluster down, if it was brought up here."""
    # Not half, and not twice.
    finish()
    found = json.loads(settings.read_text()) if settings.exists() else {}
    if found.get("down"):
        _log(found["program"], "down")
    settings.unlink(missing_ok=True)


def _training() -> dict[str, str]:
    """Variables with which test_scenarios trains, and kills machines, on the cluster that was brought up here."""
    control = machine.ROOT / ".ci" / "cluster-control"
    env = {"HAI_TEST_SHARED_PATH": os.environ.get("TMPDIR") or "/tmp", "HAI_TEST_CLUSTER_CONTROL": str(control)}
    packages = machine.cache() / "hai-training-3.11"
    if not (packages / "complete").exists():
        shutil.rmtree(packages, ignore_errors=True)
        pip = [machine.ROOT / ".venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "--target", packages]
        if _log(*pip, "--only-binary", ":all:", "--python-version", "3.11", *TRAINING):
            say(f"numpy and scikit-learn could not be installed ({LOG.name}), so the training in pods is skipped")
            return env
        (packages / "complete").touch()
    return env | {"HAI_TEST_TRAINING_PACKAGES": str(packages)}


def _answers() -> bool:
    try:
        return not subprocess.run(
            ["kubectl", "--request-timeout=5s", "get", "nodes"], capture_output=True, check=False
        ).returncode
    except OSError:
        return False


def _cluster(*words: object) -> None:
    if _log(*words):
        say(*LOG.read_text(errors="replace").splitlines()[-20:])
        raise Unusable(f"the Kubernetes for tests did not come up: {LOG.name} says why")


def _log(*words: object) -> int:
    # The cluster outlives this program: it keeps nothing open of it but the log.
    with LOG.open("ab") as log:
        return call(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


def _write(settings: Path, found: dict[str, Any]) -> None:
    settings.write_text(json.dumps(found))


def _read(settings: Path) -> Any:
    if not settings.exists():
        raise Unusable("there is no Kubernetes for tests")
    return json.loads(settings.read_text())


def main(verb: str, settings: Path) -> int:
    """Do one of `up`, `images`, `test` and `down`; return the status."""
    # Users of the nodes and of the images read what is made here.
    os.umask(0o022)
    # `make helm` puts kubectl there where the machine has none.
    os.environ["PATH"] += f"{os.pathsep}{machine.ROOT / '.venv' / 'bin'}"
    try:
        return {"up": up, "images": images, "test": test, "down": down}[verb](settings) or 0
    except Unusable as why:
        say(str(why))
        return SKIPPED
