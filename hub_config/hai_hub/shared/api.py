"""Requests of `hai up` to its own Hub and scheduler service."""

from __future__ import annotations

from hai_client.http import Transport


def own_platform(base: str, token: str | None = None, *, timeout_s: float = 10.0) -> Transport:
    """Return the client for a process of this platform: it uses no proxy of the environment, and repeats nothing.

    Args:
        base: URL before the paths, without a slash at the end.
        token: Token of the Hub to send; None: no token.
        timeout_s: Seconds to wait for an answer.
    """
    return Transport(base, token, timeout_s=timeout_s, delays_s=(), proxies=False)
