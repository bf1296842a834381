"""References to environments: what users write, and what is refused."""

from __future__ import annotations

import pytest

from haienv.shared.errors import Wrong
from haienv.store.names import EnvName, Owner, Reference, parse


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("vision", Reference("vision")),
        ("vision@3", Reference("vision", generation=3)),
        ("base/torch", Reference("torch", Owner("base"))),
        ("groups/cv/vision@12", Reference("vision", Owner("groups", "cv"), 12)),
        ("users/ann/vision", Reference("vision", Owner("users", "ann"))),
    ],
)
def test_what_users_write(text: str, meant: Reference) -> None:
    assert parse(text) == meant
    assert str(meant) == text


def test_the_owner_can_be_named_beside() -> None:
    assert parse("vision", user="bob") == Reference("vision", Owner("users", "bob"))
    assert parse("base/vision", user="bob").owner == Owner("base")


@pytest.mark.parametrize(
    "text",
    ["", "..", "../x", ".x", "a/b", "users/../x", "users//x", "base/", "a b", "x" * 64, "a\n", "vision@", "vision@0",
     "vision@x", "vision@3@4", "/etc", "groups/cv", "users/ann/x/y", "-rf", "é"],
)  # fmt: skip
def test_what_is_no_name_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(Wrong, match=r"^environment|^user|^group"):
        parse(text)


def test_kernels_of_different_environments_have_different_names() -> None:
    owners = [Owner("base"), *(Owner(level, name) for level in ("groups", "users") for name in ("cv", "a", "a-b", "A"))]
    names = [EnvName(owner, name) for owner in owners for name in ("vision", "Vision", "b-c", "c")]
    kernels = {name.kernel for name in names}
    assert len(kernels) == len(names), "a-b/c and a/b-c, Vision and vision are different ones"
    assert kernels == {kernel.lower() for kernel in kernels}, "Jupyter does not tell capital letters apart"
    assert EnvName(Owner("users", "ann"), "vision").kernel == "haienv-users-ann-vision"


@pytest.mark.parametrize("text", ["vision@", "vision@0", "vision@-1", "vision@1.5"])
def test_a_number_that_is_no_generation_is_named(text: str) -> None:
    with pytest.raises(Wrong, match=r"has no number of a generation, from 1, after '@'; write for example vision@3"):
        parse(text)
