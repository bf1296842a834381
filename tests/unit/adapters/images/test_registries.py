"""What a tag means in a registry: found out in bounded time, once for a burst, and with no secret in an error."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hai_scheduler.adapters.images.names import basic_for, parse
from hai_scheduler.adapters.images.registries import Registries
from hai_scheduler.ports.images import NoDigest
from kit.memory.clock import VirtualClock
from kit.registry import Registry, registry

TORCH = "team/torch"
PASSWORD = "a-secret-word"


@pytest_asyncio.fixture
async def there() -> AsyncIterator[Registry]:
    async with registry() as made:
        yield made


def asking(there: Registry, **more: object) -> Registries:
    return Registries(clock=VirtualClock(), insecure=frozenset({there.host}), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("image", "host", "repository", "tag"),
    [
        ("python", "registry-1.docker.io", "library/python", "latest"),
        ("python:3.12", "registry-1.docker.io", "library/python", "3.12"),
        ("pytorch/pytorch:2", "registry-1.docker.io", "pytorch/pytorch", "2"),
        ("docker.io/pytorch/pytorch:2", "registry-1.docker.io", "pytorch/pytorch", "2"),
        ("registry.example/torch", "registry.example", "torch", "latest"),
        ("registry.example:5000/a/b/torch:v1", "registry.example:5000", "a/b/torch", "v1"),
        ("localhost/torch:1", "localhost", "torch", "1"),
    ],
)
def test_names_are_read_as_container_runtimes_read_them(image: str, host: str, repository: str, tag: str) -> None:
    found = parse(image)
    assert (found.host, found.repository, found.tag) == (host, repository, tag)


@pytest.mark.parametrize("says_digest", [True, False], ids=["in a header", "of the manifest itself"])
@pytest.mark.parametrize("tokens", [True, False], ids=["with a token", "open to all"])
async def test_an_image_gets_the_digest_that_its_tag_has(there: Registry, says_digest: bool, tokens: bool) -> None:
    there.says_digest, there.tokens = says_digest, tokens
    digest = there.push(f"{TORCH}:2", b'{"manifests": []}')
    assert await asking(there).pinned(f"{there.host}/{TORCH}:2") == f"{there.host}/{TORCH}:2@{digest}"
    if tokens:
        assert f"/token?scope=repository:{TORCH}:pull&service=tests" in [path for _, path, _ in there.seen]


async def test_an_image_with_a_digest_needs_no_question(there: Registry) -> None:
    image = f"{there.host}/{TORCH}@sha256:{'a' * 64}"
    assert await asking(there).pinned(image) == image
    assert there.seen == []


async def test_a_burst_is_one_question_and_a_new_push_is_seen_soon(there: Registry) -> None:
    images, image = asking(there), f"{there.host}/{TORCH}:2"
    first = there.push(f"{TORCH}:2", b"1")
    found = await asyncio.gather(*(images.pinned(image) for _ in range(50)))
    assert set(found) == {f"{image}@{first}"}
    assert len(there.seen) == 1
    second = there.push(f"{TORCH}:2", b"2")
    assert isinstance(images.clock, VirtualClock)
    await images.clock.advance(31)
    assert await images.pinned(image) == f"{image}@{second}"


async def test_a_silent_registry_costs_its_patience_once(there: Registry) -> None:
    images, image = asking(there, patience_s=0.05), f"{there.host}/{TORCH}:2"
    there.answers.clear()
    with pytest.raises(NoDigest, match=r"did not answer within 0\.05 s"):
        await images.pinned(image)
    asked = len(there.seen)
    with pytest.raises(NoDigest, match="did not answer"):
        await images.pinned(f"{there.host}/other:1")
    assert len(there.seen) == asked
    there.answers.set()
    digest = there.push(f"{TORCH}:2", b"1")
    assert isinstance(images.clock, VirtualClock)
    await images.clock.advance(180)
    assert await images.pinned(image) == f"{image}@{digest}"


@pytest.mark.parametrize(
    ("status", "words"), [(404, "has no team/torch:2"), (500, "status 500"), (403, "does not let"), (302, "status 302")]
)
async def test_what_else_it_may_answer_is_said_and_no_redirect_followed(
    there: Registry, status: int, words: str
) -> None:
    there.status = status
    with pytest.raises(NoDigest, match=words):
        await asking(there).pinned(f"{there.host}/{TORCH}:2")
    assert len(there.seen) == 1


async def test_a_manifest_that_is_too_long_is_not_read_to_its_end(there: Registry) -> None:
    there.says_digest = False
    there.push(f"{TORCH}:2", b"x" * (4 * 1024 * 1024 + 1))
    with pytest.raises(NoDigest, match="more than 4194304 bytes"):
        await asking(there).pinned(f"{there.host}/{TORCH}:2")


@pytest.mark.parametrize(
    "realm", ["http://169.254.169.254/latest", "http://127.0.0.1:1/token", "ftp://x/", "https://a:b@x/", "token", ""]
)
async def test_a_token_is_fetched_by_https_or_from_the_registry_itself(there: Registry, realm: str) -> None:
    there.tokens, there.realm = True, realm or "http:///token"
    with pytest.raises(NoDigest, match=r"asks for a name and a password; KubernetesSettings\.registry_auth_file"):
        await asking(there).pinned(f"{there.host}/{TORCH}:2")
    assert [path for _, path, _ in there.seen] == [f"/v2/{TORCH}/manifests/2"]


async def test_no_password_goes_over_plain_http_or_into_an_error(there: Registry, tmp_path: Path) -> None:
    auth = base64.b64encode(f"robot:{PASSWORD}".encode()).decode()
    there.tokens, there.basic = True, f"Basic {auth}"
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"auths": {there.host: {"auth": auth}}}))
    images = asking(there, auth_file=file)
    with pytest.raises(NoDigest, match="gives no token") as caught:
        await images.pinned(f"{there.host}/{TORCH}:2")
    assert {said for _, _, said in there.seen} == {""}
    assert auth not in str(caught.value)
    assert PASSWORD not in repr(images)


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ({"auth": base64.b64encode(b"a:b").decode()}, "Basic YTpi"),
        ({"username": "a", "password": "b"}, "Basic YTpi"),
        ({"auth": "not base64\r\nX: y"}, None),
        ({}, None),
        ("text", None),
    ],
)
def test_a_pull_secret_is_read_as_kubelets_read_it(tmp_path: Path, entry: object, found: str | None) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"auths": {"https://index.docker.io/v1/": entry}}))
    assert basic_for(file, parse("python:3").keys) == found
    assert basic_for(file, parse("registry.example/python:3").keys) is None
    assert basic_for(tmp_path / "none", ("x",)) is None
    file.write_text("[]")
    assert basic_for(file, ("x",)) is None


async def test_nothing_listens_there(there: Registry) -> None:
    images = Registries(clock=VirtualClock(), insecure=frozenset({"127.0.0.1:1"}))
    with pytest.raises(NoDigest, match=r"127\.0\.0\.1:1 cannot be asked"):
        await images.pinned("127.0.0.1:1/x:1")
