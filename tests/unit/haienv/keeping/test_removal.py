"""Removals: what is used, kept or the origin of a draft stays, also when a reference comes at the same moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.keeping import removal
from haienv.keeping.removal import KEPT, NAMED, Collected, InUse, collect, remove
from haienv.shared.errors import Damaged, Missing, Wrong
from haienv.store.layout import EnvFolder
from haienv.store.references import folder_for, hold, use
from unit.haienv.envs_kit import env_of, publish


@pytest.fixture
def env(tmp_path: Path) -> EnvFolder:
    """An environment with six generations, of which the last is current."""
    made = env_of(tmp_path)
    for _ in range(6):
        publish(made)
    return made


def numbers(env: EnvFolder) -> list[int]:
    return [one.number for one in env.generations()]


def keep(env: EnvFolder, number: int, what: str = "task digits (7)") -> None:
    one = env.generation(number)
    hold(folder_for(env.root, None), f"task-{number}-{len(what)}", use(one, env.name, "task", what), one)


@pytest.mark.parametrize(
    ("kept", "left"), [(0, [6]), (1, [5, 6]), (KEPT, [3, 4, 5, 6]), (5, [1, 2, 3, 4, 5, 6]), (99, [1, 2, 3, 4, 5, 6])]
)
def test_the_current_one_stays_and_some_before_it(env: EnvFolder, kept: int, left: list[int]) -> None:
    done = collect(env, kept, say=print)
    assert numbers(env) == left
    assert [one.generation for one in done] == [number for number in range(1, 7) if number not in left]
    assert {one.size for one in done} <= {1500}
    assert not [name for name in env.generations_folder.iterdir() if int(name.name) not in left]


def test_the_current_one_need_not_be_the_last(env: EnvFolder) -> None:
    env.current_link.unlink()
    env.current_link.symlink_to("generations/2")
    collect(env, 0, say=print)
    assert numbers(env) == [2]


def test_what_is_used_stays_with_its_user_named(env: EnvFolder) -> None:
    keep(env, 1)
    assert collect(env, 4, say=print) == [Collected(1, 1500, ("task digits (7)",))]
    assert numbers(env)[0] == 1


@pytest.mark.parametrize(("origin", "left"), [("1\n", [1, 6]), ("", [6]), ("x", [6])])
def test_the_origin_of_a_draft_stays(env: EnvFolder, origin: str, left: list[int]) -> None:
    env.draft.mkdir()
    (env.draft / "from").write_text(origin)
    collect(env, 0, say=print)
    assert numbers(env) == left


def test_a_generation_whose_manifest_cannot_be_read_is_removed_all_the_same(env: EnvFolder) -> None:
    env.generation(1).manifest.chmod(0o644)
    env.generation(1).manifest.write_text("{")
    assert collect(env, 4, say=print) == [Collected(1, 0)]


def test_a_number_below_0_is_refused(env: EnvFolder) -> None:
    with pytest.raises(Wrong, match="keep: -1 is less than 0"):
        collect(env, -1, say=print)
    assert numbers(env) == [1, 2, 3, 4, 5, 6]


def test_what_builds_that_died_have_left_goes_too(env: EnvFolder) -> None:
    env.generation(7).prefix.mkdir(parents=True)
    collect(env, 99, say=print)
    assert not env.generation(7).folder.exists()


def at_the_second_look(monkeypatch: pytest.MonkeyPatch, env: EnvFolder, error: Exception | None) -> None:
    """Let a reference come, or the folder of references break, after the manifest was hidden."""
    real, looks = removal.users_of, []

    def users_of(*given: object) -> list[str]:
        looks.append(given)
        if len(looks) == 2:
            assert not env.generation(1).complete, "it is hidden before the second look"
            if error is not None:
                raise error
            return ["task late (8)"]
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(removal, "users_of", users_of)


def test_a_reference_that_comes_at_the_same_moment_wins(env: EnvFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_second_look(monkeypatch, env, None)
    assert collect(env, 4, say=print)[0].kept_by == ("task late (8)",)
    assert env.generation(1).complete


def test_where_it_is_not_certain_nothing_is_removed(env: EnvFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_second_look(monkeypatch, env, Damaged("reference: cannot be read"))
    with pytest.raises(Damaged):
        collect(env, 4, say=print)
    assert env.generation(1).complete
    assert not env.generation(1).hidden_manifest.exists()


def test_an_environment_is_removed_with_all_of_it(env: EnvFolder) -> None:
    env.draft.mkdir()
    remove(env, say=print)
    assert not env.folder.exists()
    assert list(env.folder.parent.iterdir()) == []
    with pytest.raises(Missing, match="there is no users/ann/vision"):
        remove(env, say=print)


def test_an_environment_that_is_used_stays_whole_and_says_by_whom(env: EnvFolder) -> None:
    keep(env, 2)
    keep(env, 3, "kernel of a notebook")
    with pytest.raises(InUse) as caught:
        remove(env, say=print)
    assert "in use by task digits (7) (@2), kernel of a notebook (@3); end or release these" in str(caught.value)
    assert numbers(env) == [1, 2, 3, 4, 5, 6]


def test_of_very_many_users_some_are_named(env: EnvFolder) -> None:
    for number in range(NAMED + 5):
        keep(env, 1, "x" * (number + 1))
    with pytest.raises(InUse, match=r" and 5 more; end or release"):
        remove(env, say=print)


def test_processes_in_the_draft_use_the_environment(env: EnvFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "processes_in", lambda prefix: ["process 42"] if "draft" in str(prefix) else [])
    with pytest.raises(InUse, match=r"process 42 \(draft\)"):
        remove(env, say=print)


def test_a_reference_that_comes_while_it_is_removed_keeps_it(env: EnvFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    real, looks = removal.refuse_used, []

    def refuse_used(one: EnvFolder, verb: str) -> None:
        looks.append(numbers(one))
        if len(looks) == 2:
            raise InUse("task late (8)")
        real(one, verb)

    monkeypatch.setattr(removal, "refuse_used", refuse_used)
    with pytest.raises(InUse):
        remove(env, say=print)
    assert looks == [[1, 2, 3, 4, 5, 6], []], "all are hidden at the second look"
    assert numbers(env) == [1, 2, 3, 4, 5, 6]
