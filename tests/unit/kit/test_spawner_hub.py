"""The stand-in of the scheduler service answers spawners as the service does."""

from __future__ import annotations

from hai_client.codec import decode, encode
from hai_client.wire.storage import ContainerConfig
from kit.spawner_hub import CONTAINER_CONFIG


def test_it_answers_with_every_field_of_the_wire_and_no_other() -> None:
    assert encode(decode(ContainerConfig, CONTAINER_CONFIG)) == CONTAINER_CONFIG
