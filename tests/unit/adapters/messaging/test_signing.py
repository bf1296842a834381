"""Signatures as Standard Webhooks has them."""

from __future__ import annotations

from hai_scheduler.adapters.messaging.signing import signature


def test_the_example_of_the_standard() -> None:
    # From the reference libraries' own tests: key, id, time and body give this signature.
    found = signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
