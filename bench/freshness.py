"""How soon does an end bind on another replica, for its next request and for its open stream?"""

import http.client
import json
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlencode

from bench.harness.bench import Bench
from bench.harness.identity_provider import IdentityProvider
from bench.harness.population import make_place
from bench.harness.processes import Replica
from bench.harness.table import Goal, Row, Sample, Table

STREAMS = 25
"""Ends in a round, one after the other, while the others' streams are open."""
_WAIT_S = 10.0
_STREAM, _LOGOUT = "/v1/audit-logs/stream", "/console/backchannel-logout"
KEY, SESSION, LOGOUT, ISSUER = (
    "an API key is revoked",
    "a session is ended",
    "a person signs out at the provider",
    "a workload's issuer is deleted",
)


class Ended(NamedTuple):
    """One end. ms: until its answer; then, until the stream ended. was_let_in: its next request was not refused."""

    answered_ms: float
    stream_ms: float
    was_let_in: bool


class Bearer(NamedTuple):
    """A token, and the request that ends it: method, path, body and its type."""

    token: str
    end: tuple[str, str, bytes | None, str]


def measure(bench: Bench) -> Table:
    """Each end is asked of one replica, and looked for on another."""
    idp, chance = IdentityProvider(), random.Random(7)
    settings: dict[str, Any] = idp.settings("admins=admin") | {"REMIT_AUTH_FAILURES_PER_MINUTE": "0"}
    with (
        bench.running_store("freshness") as store,
        bench.replica(store, **settings) as told,
        bench.replica(store, **settings) as other,
    ):
        admin_key = make_place(store.url, "default", []).admin_key
        makers = {
            KEY: lambda: _key(told, admin_key),
            SESSION: lambda: _session(told, idp, "ann", by_provider=False),
            LOGOUT: lambda: _session(told, idp, f"ann {chance.random()}", by_provider=True),
            ISSUER: lambda: _workload(told, admin_key, idp, str(chance.random())),
        }
        rows = [Row(label=label) for label in makers]
        for _ in range(bench.rounds):
            for row, make in zip(rows, makers.values(), strict=True):
                row.samples.append(_round(make, told, other, admin_key, chance))
    idp.stop()
    longest = [max(each["stream max ms"] for each in row.samples) for row in rows]
    return Table(
        name="freshness",
        question="how soon does an end bind on another replica?",
        command=bench.command,
        columns={
            "answered ms": ".1f",
            "let in afterwards": ".0f",
            "stream p50 ms": ".0f",
            "stream p90 ms": ".0f",
            "stream max ms": ".0f",
        },
        rows=rows,
        baseline=KEY,
        compared="stream p50 ms",
        first_column="End",
        goals=[
            Goal(
                wanted=f"{row.label}: the longest an open stream lived on, ms",
                bound=1000,
                at_least=False,
                measured=longest_ms,
            )
            for row, longest_ms in zip(rows, longest, strict=True)
        ],
        left_out=[
            (
                f"{STREAMS} ends a round at random moments. `let in afterwards` counts those whose next request, sent "
                "to the other replica once the end was answered, was not refused. Streams ask every 500 ms whether "
                "their key is still valid, and check it before they send anything."
            )
        ],
    )


def _round(make: Callable[[], Bearer], told: Replica, other: Replica, admin_key: str, chance: random.Random) -> Sample:
    bearers = [make() for _ in range(STREAMS)]
    waits = [chance.random() for _ in bearers]
    with ThreadPoolExecutor(STREAMS) as pool:
        ends = list(pool.map(lambda each, wait: _end(each, wait, told, other, admin_key), bearers, waits))
    lived = sorted(each.stream_ms for each in ends)
    return {
        "answered ms": sorted(each.answered_ms for each in ends)[len(ends) // 2],
        "let in afterwards": float(sum(each.was_let_in for each in ends)),
        "stream p50 ms": lived[len(lived) // 2],
        "stream p90 ms": lived[int(len(lived) * 0.9)],
        "stream max ms": lived[-1],
    }


def _end(bearer: Bearer, wait_s: float, told: Replica, other: Replica, admin_key: str) -> Ended:
    connection = http.client.HTTPConnection("127.0.0.1", other.port, timeout=_WAIT_S)
    connection.request("GET", _STREAM, headers=_bears(bearer.token))
    stream = connection.getresponse()
    if stream.status != http.client.OK:
        raise RuntimeError(f"the stream is refused: {stream.read().decode()}")
    time.sleep(wait_s)
    began = time.perf_counter()
    method, path, body, kind = bearer.end
    _asked(told, admin_key if path != _LOGOUT else "", method, path, body, kind)
    answered = time.perf_counter()
    was_let_in = _status(other, bearer.token) != http.client.UNAUTHORIZED
    while stream.read1(65_536):
        pass
    ended = time.perf_counter()
    connection.close()
    return Ended((answered - began) * 1e3, (ended - answered) * 1e3, was_let_in)


def _key(told: Replica, admin_key: str) -> Bearer:
    made = _json(told, admin_key, "POST", "/v1/api-keys", {"name": "k", "scopes": ["read"]})
    return Bearer(made["key"], ("DELETE", f"/v1/api-keys/{made['id']}", None, ""))


def _session(told: Replica, idp: IdentityProvider, sub: str, *, by_provider: bool) -> Bearer:
    proof = {"id_token": idp.id_token(sub, "admins"), "transport": "bearer"}
    made = _json(told, "", "POST", "/v1/session", proof)
    if not by_provider:
        return Bearer(made["token"], ("DELETE", f"/v1/sessions/{made['id']}", None, ""))
    form = urlencode({"logout_token": idp.logout_token(sub)}).encode()
    return Bearer(made["token"], ("POST", _LOGOUT, form, "application/x-www-form-urlencoded"))


def _workload(told: Replica, admin_key: str, idp: IdentityProvider, sub: str) -> Bearer:
    """A token of an issuer of its own, so that each end is of one token."""
    name = f"i{sub.removeprefix('0.')}"
    fields = {"issuer": idp.issuer, "audience": name, "algorithms": ["ES256"], "jwks": {"keys": [idp.jwk]}}
    rules = [{"match": {"sub": sub}, "scopes": ["read"]}]
    _json(told, admin_key, "PUT", f"/v1/issuers/{name}", {**fields, "rules": rules})
    return Bearer(idp.signed(sub=sub, aud=name), ("DELETE", f"/v1/issuers/{name}", None, ""))


def _json(replica: Replica, token: str, method: str, path: str, body: dict[str, Any]) -> Any:
    return json.loads(_asked(replica, token, method, path, json.dumps(body).encode(), "application/json"))


def _asked(replica: Replica, token: str, method: str, path: str, body: bytes | None, kind: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", replica.port, timeout=_WAIT_S)
    connection.request(method, path, body, _bears(token) | ({"Content-Type": kind} if kind else {}))
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    if answer.status >= http.client.BAD_REQUEST:
        raise RuntimeError(f"{method} {path}: {said.decode()}")
    return said


def _status(replica: Replica, token: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", replica.port, timeout=_WAIT_S)
    connection.request("GET", "/v1/agents", headers=_bears(token))
    status = connection.getresponse().status
    connection.close()
    return status


def _bears(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}
