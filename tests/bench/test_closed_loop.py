"""wrk's script checks every answer under load; here it runs in a separate interpreter."""

import json

import pytest
from lupa import lua51

from bench.harness.closed_loop import SCRIPT, WrongAnswer, parse_report


@pytest.fixture
def script(tmp_path):
    """`decisions.lua` with one thread, after `init` with one request and the text that answers must contain."""
    requests = tmp_path / "requests"
    requests.write_text('/v1/authorize\tsvc_key\t{"agent_id":"a"}\n')
    runtime = lua51.LuaRuntime()
    runtime.execute(
        """
        wrk = {format = function(method, path, headers, body) return {method, path, headers, body} end}
        written = ""
        io.write = function(text) written = written .. text end
        """
    )
    runtime.execute(SCRIPT.read_text())
    runtime.globals().setup(runtime.eval("{get = function(_, name) return _G[name] end}"))
    runtime.globals().init(runtime.table(str(requests), '"allowed":true'))
    return runtime


def report_of(script, requests):
    script.execute(
        f"""
        latency = {{max = 9, percentile = function(_, p) return math.floor(p) end}}
        errors = {{connect = 0, read = 0, write = 0, timeout = 0}}
        done({{requests = {requests}, duration = 1000000, errors = errors}}, latency, nil)
        """
    )
    return script.globals().written


def test_a_request_carries_its_key_and_body(script):
    """What is sent is what the file says."""
    method, path, headers, body = script.globals().request().values()

    assert (method, path, body) == ("POST", "/v1/authorize", '{"agent_id":"a"}')
    assert headers["Authorization"] == "Bearer svc_key"


def test_answers_as_expected_make_a_report(script):
    """The numbers of a run in which nothing was wrong."""
    script.globals().response(200, None, '{"id":"x","allowed":true}')

    report = parse_report(report_of(script, 1))

    assert (report.requests, report.wrong, report.p50_us) == (1, 0, 50)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, '{"error":{"code":"UNAUTHORIZED"}}'),
        (503, '{"error":{"code":"STORE_UNAVAILABLE"}}'),
        (200, '{"id":"x","allowed":false}'),
        (404, '{"allowed":true}'),
    ],
)
def test_one_wrong_answer_fails_the_run(script, status, body):
    """A benchmark that counts refusals is worthless."""
    script.globals().response(200, None, '{"allowed":true}')
    script.globals().response(status, None, body)

    with pytest.raises(WrongAnswer, match="1 of 2 answers were wrong"):
        parse_report(report_of(script, 2))


def test_a_lost_answer_fails_the_run():
    """Connections that break or time out are not left out of the count."""
    numbers = dict.fromkeys(("duration_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us", "wrong"), 0)

    with pytest.raises(WrongAnswer, match="1 were lost"):
        parse_report(json.dumps({"requests": 5} | numbers | {"lost": 1, "example": ""}, separators=(",", ":")))


def test_no_report_is_a_failure():
    """A load generator that could not connect says so in words, and they are passed on."""
    with pytest.raises(WrongAnswer, match="unable to connect"):
        parse_report("unable to connect to 127.0.0.1:1 Connection refused")


def test_a_round_without_one_answer_is_a_failure():
    """A service that stood still for a whole round is no row of zeros."""
    numbers = dict.fromkeys(("requests", "duration_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us"), 0)

    with pytest.raises(WrongAnswer, match="not one answer"):
        parse_report(json.dumps(numbers | {"wrong": 0, "lost": 0, "example": ""}, separators=(",", ":")))
