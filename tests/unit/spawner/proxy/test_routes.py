"""Which server a request goes to."""

from __future__ import annotations

import pytest

from hai_spawner.proxy.routes import ProxyRoute, RouteTable, canonical


def table(*specs: str, by_host: bool = False) -> RouteTable:
    made = RouteTable(by_host=by_host)
    for spec in specs:
        made.add(ProxyRoute(spec, f"http://target{spec.replace('/', '-')}"))
    return made


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/", "/"),
        ("/hub/login", "/"),
        ("/user/ann", "/user/ann/"),
        ("/user/ann/lab/tree", "/user/ann/"),
        ("/user/ann/gpu/lab", "/user/ann/gpu/"),
        ("/user/anna/lab", "/"),
        ("/user/bob%40x.org/lab", "/user/bob@x.org/"),
        ("/user/bob@x.org/lab", "/user/bob@x.org/"),
        ("/user%2Fann/lab", "/"),
    ],
)
def test_the_longest_prefix_of_whole_segments_wins(path: str, found: str) -> None:
    routes = table("/", "/user/ann/", "/user/ann/gpu/", "/user/bob@x.org/")
    route = routes.find("any", path)
    assert route is not None
    assert route.routespec == found


def test_a_path_without_a_route_finds_nothing() -> None:
    assert table("/user/ann/").find("any", "/user/bob/") is None


def test_a_removed_route_is_gone_and_removing_it_twice_is_harmless() -> None:
    routes = table("/", "/user/ann/")
    routes.remove("/user/ann/")
    routes.remove("/user/ann/")
    assert [route.routespec for route in routes.all()] == ["/"]


def test_host_routing_tells_hosts_apart_and_ignores_the_port() -> None:
    routes = table("ann.example.org/user/ann/", "/", by_host=True)
    found = routes.find("ann.example.org:8000", "/user/ann/lab")
    other = routes.find("bob.example.org", "/user/ann/lab")
    assert found is not None
    assert found.routespec == "ann.example.org/user/ann/"
    assert other is not None
    assert other.routespec == "/"


def test_an_encoded_slash_makes_no_segment() -> None:
    assert canonical("/a%2Fb") == "/a%2Fb/"
