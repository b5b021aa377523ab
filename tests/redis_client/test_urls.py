"""A store's URL, taken apart and put together."""

import pytest
from redis import __version__, utils
from redis.asyncio.connection import SSLConnection

from app.redis_client.urls import StoreUrl, open_cluster, open_redis


@pytest.mark.parametrize(
    ("text", "topology", "nodes", "service", "server"),
    [
        ("redis://h:7000/2", "", (("h", 7000),), "mymaster", "redis://m:1/2"),
        ("redis+cluster://h", "cluster", (("h", 6379),), "mymaster", "redis://m:1/"),
        ("redis+cluster://u:p%40@[::1]:7000", "cluster", (("::1", 7000),), "mymaster", "redis://u:p%40@m:1/"),
        ("redis+sentinel://a,b:7,[::2]/svc/3", "sentinel", (("a", 26379), ("b", 7), ("::2", 26379)), "svc", "redis://m:1/3"),
        ("rediss+sentinel://:p@a/svc?ssl_ca_certs=/ca", "sentinel", (("a", 26379),), "svc", "rediss://:p@m:1/?ssl_ca_certs=/ca"),
    ],
)  # fmt: skip
def test_every_part_of_a_url_is_found(text, topology, nodes, service, server):
    """The URL of a single server has login, database number and TLS options."""
    url = StoreUrl.parse(text)
    assert (url.topology, url.nodes, url.service) == (topology, nodes, service)
    assert url.server("m", 1) == server


def test_the_url_of_a_server_with_a_numeric_address_has_its_brackets():
    """IPv6."""
    assert StoreUrl.parse("redis+cluster://h").server("::1", 7000) == "redis://[::1]:7000/"


async def test_logins_are_decoded_and_tls_is_used_for_every_topology():
    """Including passwords with URL characters, and private certificate authorities."""
    query = "?ssl_ca_certs=/ca.pem"
    single = open_redis(StoreUrl.parse(f"rediss://u:p%40@h/1{query}"), 1.0, 10)
    master = open_redis(StoreUrl.parse(f"rediss+sentinel://u:p%40@h/svc/1{query}"), 1.0, 10)
    for redis in (single, master):
        pool = redis.connection_pool
        assert issubclass(pool.connection_class, SSLConnection)
        held = pool.connection_kwargs
        assert (held["username"], held["password"], held["db"], held["ssl_ca_certs"]) == ("u", "p@", 1, "/ca.pem")
        await redis.aclose()
    await master.connection_pool.sentinel_manager.aclose()

    cluster = open_cluster(StoreUrl.parse(f"rediss+cluster://u:p%40@h{query}"), 1.0, 10)
    held = cluster.connection_kwargs
    assert (held["username"], held["password"], held["ssl_ca_certs"]) == ("u", "p@", "/ca.pem")
    assert issubclass(cluster.nodes_manager.startup_nodes["h:6379"].connection_class, SSLConnection)
    await cluster.aclose()


@pytest.mark.parametrize("scheme", ["redis", "rediss", "redis+sentinel", "redis+cluster"])
async def test_connections_are_made_without_looking_a_version_up(monkeypatch, scheme):
    """redis-py would read its package's metadata for each connection, which blocks decisions."""
    monkeypatch.setattr(utils, "get_lib_version", pytest.fail)
    opening = open_cluster if scheme == "redis+cluster" else open_redis
    opened = opening(StoreUrl.parse(f"{scheme}://h/svc" if "sentinel" in scheme else f"{scheme}://h"), 1.0, 10)
    if scheme != "redis+cluster":
        assert opened.connection_pool.make_connection().driver_info.lib_version == __version__
