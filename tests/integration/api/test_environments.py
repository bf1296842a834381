"""The one list of images and environments over HTTP, builds as tasks, and who may have what built."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from hai_scheduler.core.model.ids import TaskId
from kit.builders import a_pin

TORCH: dict[str, Any] = {"image": "quay.io/ml/torch:2", "subjects": ["public"]}
BUILDER = "custom:hai:environments"


@pytest.fixture
def known(world: Any) -> Any:
    """Environments of alice, of her group, of bob, of base; and tokens with the right for groups."""
    for name in ("users/alice/vision", "groups/ml/vision", "groups/nlp/text", "base/vision", "users/bob/secret"):
        world.haienvs.publish(a_pin(name, generation=1))
        world.haienvs.publish(a_pin(name, generation=2))
    world.haienvs.publish(a_pin("users/bob/shared", generation=1))
    world.haienvs.shared.add("users/bob/shared")
    alice = world.hub.tokens["alice-token"]
    for name, scope in (
        ("builder", BUILDER),
        ("ml", f"{BUILDER}!group=ml"),
        ("nlp", f"{BUILDER}!group=nlp"),
        ("own", f"{BUILDER}!user=alice"),
    ):
        world.hub.tokens[f"{name}-token"] = {**alice, "scopes": [*alice["scopes"], scope]}
    return world


async def listed(world: Any, who: str = "alice", query: str = "") -> list[str]:
    status, found = await world.json("GET", f"/environments{query}", who)
    assert status == 200, found
    return [item["full_name"] for item in found["items"]]


async def build(world: Any, name: str, who: str = "alice", **body: Any) -> tuple[int, Any]:
    path = f"/environments/{quote(name, safe='')}/builds"
    status, found = await world.json("POST", path, who, json={"verb": "rebuild", **body})
    return status, found


async def test_images_and_environments_are_one_list_with_full_names(known: Any) -> None:
    await known.json("PUT", "/environments/vision", "admin", json=TORCH)
    mine = ["images/vision", "users/alice/vision", "groups/ml/vision", "base/vision", "users/bob/shared"]
    assert await listed(known) == mine
    assert await listed(known, "reader") == mine
    assert await listed(known, query="?kind=image") == ["images/vision"]
    assert await listed(known, query="?kind=haienv") == mine[1:]
    assert set(await listed(known, "admin", "?all=true")) == {*mine, "groups/nlp/text", "users/bob/secret"}
    assert (await known.json("GET", "/environments?all=true"))[0] == 403
    assert await listed(known, "service") == ["images/vision"], "a service is no user"
    items = (await known.json("GET", "/environments"))[1]
    assert items["owners"] == ["users/alice"]
    own = items["items"][1]
    assert (own["kind"], own["name"]) == ("haienv", "users/alice/vision")
    facts = {key: own["haienv"][key] for key in ("owner", "generation", "generations", "python", "draft", "may_build")}
    assert facts == {
        "owner": "users/alice",
        "generation": 2,
        "generations": [1, 2],
        "python": a_pin().python,
        "draft": False,
        "may_build": True,
    }
    assert [item["haienv"]["may_build"] for item in items["items"][2:]] == [False, False, False]


async def test_a_name_means_what_it_means_in_a_submission(known: Any) -> None:
    async def means(name: str, who: str = "alice") -> tuple[int, str]:
        status, found = await known.json("GET", f"/environments/{quote(name, safe='')}", who)
        return status, found["full_name"] if status == 200 else found["detail"]

    assert await means("vision") == (200, "users/alice/vision")
    assert await means("groups/ml/vision@1") == (200, "groups/ml/vision")
    await known.json("PUT", "/environments/vision", "admin", json=TORCH)
    assert await means("vision") == await means("images/vision") == (200, "images/vision")
    status, said = await means("nothing")
    assert (status, "nothing" in said) == (404, True)
    assert (await means("images/none"))[0] == 404
    assert (await means("vision@x"))[0] == 400


MATRIX = [
    # owner, who, status
    ("users/alice/vision", "alice", 201),
    ("users/alice/vision", "reader", 403),
    ("users/alice/vision", "bob", 403),
    ("users/alice/vision", "admin", 403),
    ("users/alice/vision", "service", 403),
    ("vision", "alice", 201),
    ("groups/ml/vision", "alice", 403),
    ("groups/ml/vision", "ml", 201),
    ("groups/ml/vision", "own", 201),
    ("groups/ml/vision", "builder", 201),
    ("groups/ml/vision", "nlp", 403),
    ("groups/ml/vision", "bob", 403),
    ("groups/ml/vision", "admin", 201),
    ("groups/nlp/text", "builder", 403),
    ("groups/nlp/text", "nlp", 403),
    ("groups/nlp/text", "admin", 201),
    ("base/vision", "alice", 403),
    ("base/vision", "builder", 403),
    ("base/vision", "admin", 201),
]


@pytest.mark.parametrize(("name", "who", "status"), MATRIX)
async def test_who_may_have_what_built(known: Any, name: str, who: str, status: int) -> None:
    found, answer = await build(known, name, who)
    assert found == status, answer
    if status == 403:
        assert (await known.json("GET", "/tasks", "admin"))[1]["items"] == []


async def test_the_token_of_a_run_builds_nothing(known: Any) -> None:
    token = known.tokens.make("1.1").reveal()
    path = "/environments/vision/builds"
    status, _ = await known.json(
        "POST", path, None, headers={"Authorization": f"Bearer {token}"}, json={"verb": "rebuild"}
    )
    assert status == 401


async def test_a_build_is_a_task_of_the_caller(known: Any) -> None:
    async with known.ask(
        "POST", "/environments/vision/builds", json={"verb": "install", "requirements": ["timm==1.0"]}
    ) as response:
        task = await response.json()
        assert (response.status, response.headers["Location"].endswith(f"/tasks/{task['id']}")) == (201, True)
    assert task["command"] == ["haienv", "install", "users/alice/vision", "timm==1.0"]
    assert (task["user"], task["name"], task["group"], task["gpus"]) == ("alice", "install-vision", "training", 1)
    assert (task["tags"], task["env"]) == (["build", "users/alice/vision"], {})
    events = (await known.json("GET", f"/tasks/{task['id']}/events"))[1]["items"]
    assert events[0]["data"]["build"] == "install users/alice/vision"
    async with known.store.read() as tx:
        spec = await tx.tasks.get_spec(TaskId(task["id"]))
    assert spec.env == {"HAI_BUILD": "install users/alice/vision"}
    assert (await known.json("POST", f"/tasks/{task['id']}/stop"))[0] == 200


async def test_the_same_key_is_the_same_build(known: Any) -> None:
    async def asked(**body: Any) -> tuple[int, Any]:
        return await known.json(
            "POST", "/environments/vision/builds", headers={"Idempotency-Key": "k"}, json={"verb": "rebuild", **body}
        )

    first, again = await asked(), await asked()
    assert (first[0], again[0], first[1]["id"]) == (201, 201, again[1]["id"])
    assert (await asked(verb="remove"))[0] == 409


async def test_no_submission_passes_for_a_build(known: Any) -> None:
    body = {
        "name": "t",
        "command": ["haienv", "remove", "base/vision"],
        "cwd": "/",
        "env": {"HAI_BUILD": "remove base/vision"},
    }
    status, problem = await known.json("POST", "/tasks", json=body)
    assert (status, problem["errors"][0]["field"]) == (400, "env")


@pytest.mark.parametrize(
    ("name", "body", "status", "field"),
    [
        ("users/alice/../bob/secret", {}, 400, "name"),
        ("users/alice/a b", {}, 400, "name"),
        ("vision", {"verb": "install", "requirements": ["--find-links", "http://evil"]}, 400, "requirements"),
        ("vision", {"verb": "install", "requirements": ["timm --find-links http://evil"]}, 400, "requirements"),
        ("vision", {"verb": "install", "requirements": ["x @ https://a:hunter2@e/x.whl"]}, 400, "requirements"),
        ("vision", {"verb": "install", "requirements": ["x @ https://hunter2@e/x.whl"]}, 400, "requirements"),
        ("vision", {"verb": "install", "requirements": ["six", "x @ https://e/x?token=hunter2"]}, 400, "requirements"),
        ("new", {"verb": "create", "extend": "users/bob/secret"}, 400, "extend"),
        ("new", {"verb": "create", "extend": "base/nothing"}, 400, "extend"),
        ("new", {"verb": "explode"}, 400, "verb"),
        ("new", {"command": ["sh"]}, 400, "command"),
        ("new", {"verb": "install", "requirements": ["a"]}, 404, None),
        ("vision", {"verb": "create"}, 409, None),
    ],
)
async def test_what_is_wrong_is_refused_before_there_is_a_task(
    known: Any, name: str, body: dict[str, Any], status: int, field: str | None
) -> None:
    found, problem = await build(known, name, **body)
    assert found == status, problem
    assert field is None or problem["errors"][0]["field"] == field
    assert "hunter2" not in str(problem)
    assert (await known.json("GET", "/tasks"))[1]["items"] == []


async def test_a_new_environment_may_extend_one_that_is_shared(known: Any) -> None:
    status, task = await build(known, "new", verb="create", extend="users/bob/shared@1", python="3.11", kernel=False)
    assert status == 201, task
    assert task["command"][2:] == [
        "users/alice/new",
        "--extend=users/bob/shared@1",
        "--python=3.11",
        "--no-kernel",
    ]


async def test_an_admin_is_told_of_a_group_that_nobody_is_known_in(known: Any) -> None:
    await known.json("GET", "/environments")
    status, task = await build(known, "groups/m1/vision", "admin", verb="create")
    assert status == 201, task
    [warning] = task["warnings"]
    assert warning.startswith("name: HAI has never seen a user of the group 'm1': check the spelling")
    assert "Groups that it has seen: " in warning
    assert "ml" in warning.rpartition(": ")[2].rstrip(".").split(", ")
    status, task = await build(known, "groups/ml/speech", "admin", verb="create")
    assert (status, task["warnings"]) == (201, []), "alice is in it"
    status, task = await build(known, "base/speech", "admin", verb="create")
    assert (status, task["warnings"]) == (201, [])


async def test_a_group_that_the_hub_does_not_know_is_refused_with_those_that_it_knows(known: Any) -> None:
    known.hub.groups = {"ml", "cv", *(f"team-{number:03}" for number in range(250))}
    status, problem = await build(known, "groups/nosuch/vision", "admin", verb="create")
    assert (status, problem["errors"][0]["field"]) == (400, "name")
    message = problem["errors"][0]["message"]
    assert "there is no group 'nosuch': choose one of cv, ml, team-000" in message
    assert message.endswith("and 232 more")
    status, problem = await build(known, "users/alice/vision", verb="share", groups=["ml", "nosuch"])
    assert (status, problem["errors"][0]["field"]) == (400, "groups")
    # A group that nobody of is known yet is one all the same.
    status, task = await build(known, "groups/team-249/vision", "admin", verb="create")
    assert (status, task["warnings"]) == (201, [])
    known.hub.groups = set()
    status, problem = await build(known, "groups/ml/other", "admin", verb="create")
    assert "the Hub has no groups yet, and an admin makes them there" in problem["errors"][0]["message"]
