"""A generation's lock as pylock.toml: just the files that the lock admits, with the index's word on where they are."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from haienv.building.exporting import pylock
from haienv.shared.errors import BuildFailed, Wrong
from haienv.store.layout import EnvFolder, Generation
from haienv.store.site import Site
from haienv.store.spec import Spec
from unit.haienv.envs_kit import a_manifest, env_of, publish

ONE, TWO, OTHER = "1" * 64, "2" * 64, "3" * 64
FOUND = f"""\
lock-version = "1.0"
[[packages]]
name = "six"
version = "1.17.0"
index = "https://a.example/simple"
marker = "python_version > '3'"
sdist = {{ url = "https://ann:secret@f.example/six.tar.gz", hashes = {{ sha256 = "{TWO}" }} }}
wheels = [
  {{ url = "https://f.example/six.whl", size = 10, hashes = {{ sha256 = "{ONE}" }} }},
  {{ url = "https://f.example/six-other.whl", hashes = {{ sha256 = "{OTHER}" }} }},
]
"""
LOCK = f"six==1.17.0 \\\n    --hash=sha256:{ONE} \\\n    --hash=sha256:{TWO}\n"


class FakeUv:
    """Answers with a pylock.toml that the test has written."""

    def __init__(self, answer: str = FOUND) -> None:
        self.answer, self.words, self.stdin = answer, [""], ""

    def run(self, words: Sequence[str], *, stdin: str = "", doing: str) -> str:
        self.words, self.stdin = list(words), stdin
        return self.answer


class Exported:
    """An environment with a lock, and its pylock.toml."""

    def __init__(self, env: EnvFolder, uv: FakeUv) -> None:
        self.env, self.uv = env, uv

    def text(self, lock: str = LOCK, **spec: Any) -> str:
        made: Generation = publish(self.env)
        made.lock.write_text(lock)
        manifest = a_manifest(self.env, made.number)
        return pylock(self.uv, made, manifest, Spec(**spec), Site())  # type: ignore[arg-type]

    def data(self, lock: str = LOCK, **spec: Any) -> dict[str, Any]:
        return tomllib.loads(self.text(lock, **spec))


@pytest.fixture
def exported(tmp_path: Path) -> Exported:
    return Exported(env_of(tmp_path), FakeUv())


def test_it_has_just_the_files_that_the_lock_admits(exported: Exported) -> None:
    [six] = exported.data()["packages"]
    assert six == {
        "name": "six", "version": "1.17.0", "index": "https://a.example/simple",
        "sdist": {"url": "https://f.example/six.tar.gz", "hashes": {"sha256": TWO}} | url_of(six["sdist"]),
        "wheels": [{"url": "https://f.example/six.whl", "size": 10, "hashes": {"sha256": ONE}}],
    }  # fmt: skip
    [six] = exported.data(f"six==1.17.0 --hash=sha256:{ONE}\n")["packages"]
    assert "sdist" not in six


def url_of(file: dict[str, Any]) -> dict[str, str]:
    """The address as it was written: how a password is left out is another module's."""
    assert "f.example/six.tar.gz" in file["url"]
    return {"url": file["url"]}


def test_no_password_of_an_index_is_in_it(exported: Exported) -> None:
    assert "secret" not in exported.text()


def test_it_says_for_which_python_and_machine_it_is(exported: Exported) -> None:
    data = exported.data()
    assert (data["lock-version"], data["requires-python"], data["created-by"]) == ("1.0", "==3.11.*", "haienv")
    assert data["environments"] == ["sys_platform == 'linux' and platform_machine == 'x86_64'"]
    assert exported.text().startswith("# users/ann/vision@2, sha256:1\n")


def test_uv_looks_up_the_pins_and_nothing_else(exported: Exported) -> None:
    exported.data(indexes=("https://b.example/simple",))
    assert exported.uv.stdin.startswith("six==1.17.0")
    assert {"--no-deps", "--generate-hashes", "pylock.toml"} <= set(exported.uv.words)
    assert "https://b.example/simple" in exported.uv.words


def test_texts_are_written_so_that_they_are_read_again(exported: Exported) -> None:
    exported.uv.answer = FOUND.replace("six.whl", "s\\u007f\\\\i\\u00e4x.whl")
    [six] = exported.data()["packages"]
    assert six["wheels"][0]["url"] == "https://f.example/s\x7f\\i\u00e4x.whl"


def test_an_index_that_no_longer_has_the_files_is_an_error(exported: Exported) -> None:
    exported.uv.answer = FOUND.replace(ONE, "4" * 64).replace(TWO, "5" * 64)
    with pytest.raises(BuildFailed, match="six"):
        exported.text()


def test_packages_of_conda_cannot_be_in_it(exported: Exported) -> None:
    with pytest.raises(Wrong, match=r"pylock.toml cannot hold packages of conda; --format requirements"):
        exported.text(LOCK + "# conda: numpy 2.1 py311_0 https://c/x.conda sha256:0\n")


def test_an_environment_without_packages_has_nothing_to_lock(exported: Exported) -> None:
    with pytest.raises(Wrong, match="the environment has no packages: there is nothing to lock"):
        exported.text("# nothing\n")
    assert exported.uv.words == [""], "uv was not asked"
