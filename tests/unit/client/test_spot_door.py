"""A spot container's calls to the Hub: what is sent, and how each answer is taken."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hai_client.spot_door import Door, DoorRefused, HubUnreachable
from kit.ports import free_port
from unit.client.spot_hub import Hub, a_hub


@pytest.fixture
def hub() -> Iterator[Hub]:
    with a_hub() as made:
        yield made


def test_the_door_sends_the_runs_token_and_reads_what_to_run(hub: Hub) -> None:
    hub.body = {"generation": "g", "command": ["lab", "-x"], "env": {"A": "hidden"}, "retry_s": 5}
    answer = Door(hub.url, "run:41.1:abc", "gpu").knock(4000, None)
    assert (answer.generation, answer.command, answer.env, answer.retry_s) == ("g", ("lab", "-x"), {"A": "hidden"}, 5)
    assert "hidden" not in repr(answer)
    assert hub.asked == [("POST", "Bearer run:41.1:abc", {"server": "gpu", "port": 4000, "generation": None})]


@pytest.mark.parametrize(
    ("status", "kind"), [(410, DoorRefused), (403, DoorRefused), (503, HubUnreachable), (429, HubUnreachable)]
)
def test_the_door_tells_no_from_not_now(hub: Hub, status: int, kind: type[Exception]) -> None:
    hub.status, hub.body = status, {"message": "ann has no such server"}
    with pytest.raises(kind, match="no such server"):
        Door(hub.url, "run:41.1:abc", "gpu").knock(4000, None)


@pytest.mark.parametrize(
    "body",
    [{"generation": 5}, {"generation": "g", "command": "rm -rf"}, {"generation": "g", "env": {"A": 1}}],
    ids=["number", "command line", "variable"],
)
def test_an_answer_that_makes_no_sense_is_no_answer(hub: Hub, body: object) -> None:
    hub.body = body
    with pytest.raises(HubUnreachable):
        Door(hub.url, "run:41.1:abc", "gpu").knock(4000, None)


@pytest.mark.parametrize("status", [401, 403, 404, 409, 410])
def test_no_is_no_also_without_a_reason(hub: Hub, status: int) -> None:
    hub.status, hub.raw = status, b"<html>no</html>"
    with pytest.raises(DoorRefused, match=f"status {status}"):
        Door(hub.url, "run:41.1:abc", "").knock(4000, "g1")


@pytest.mark.parametrize("raw", [b"", b"[1]", b"not json", b"\xff", b"{" * 10], ids=str)
def test_an_answer_that_is_no_object_says_nothing(hub: Hub, raw: bytes) -> None:
    hub.raw = raw
    answer = Door(hub.url, "run:41.1:abc", "").knock(4000, None)
    assert (answer.generation, answer.command, dict(answer.env), answer.retry_s) == (None, (), {}, 1.0)


@pytest.mark.parametrize(
    ("given", "taken"), [(5, 5.0), (0, 0.2), (-3, 0.2), (1e9, 60.0), ("soon", 1.0), (None, 1.0), ([], 1.0)]
)
def test_the_time_until_the_next_knock_is_bounded(hub: Hub, given: object, taken: float) -> None:
    hub.body = {"retry_s": given}
    assert Door(hub.url, "run:41.1:abc", "").knock(4000, None).retry_s == taken


def test_a_hub_that_is_away_is_unreachable_and_no_secret_is_told() -> None:
    with pytest.raises(HubUnreachable) as caught:
        Door(f"http://127.0.0.1:{free_port()}/hub/hai/spot", "run:41.1:abc", "").knock(4000, None)
    assert str(caught.value) == "ConnectionRefusedError"


def test_it_says_that_the_server_ends(hub: Hub) -> None:
    Door(hub.url, "run:41.1:abc", "gpu").leave()
    assert hub.asked == [("DELETE", "Bearer run:41.1:abc", {"server": "gpu"})]
    hub.status = 404
    with pytest.raises(DoorRefused):
        Door(hub.url, "run:41.1:abc", "gpu").leave()


@pytest.mark.parametrize("url", ["", "hub/hai/spot", "ftp://hub/x", "http://", "file:///etc/passwd"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"HAI_SPOT_URL is .*; it must be the address"):
        Door(url, "t", "")
