import pytest

from bench.harness import stages
from bench.harness.machine import ROOT

LOOP = "Runner.run (asyncio/runners.py:118)"
ANSWER = "respond (app/http/hot_path.py:1)"


@pytest.mark.parametrize(
    ("frames", "stage"),
    [
        ([LOOP, "HttpToolsProtocol.data_received (uvicorn/protocols/http/httptools_impl.py:174)"], stages.PARSE),
        ([LOOP, ANSWER, "raw_key_of (app/http/authentication.py:43)"], stages.AUTHENTICATE),
        ([LOOP, ANSWER, "tool_call (app/http/tool_calls.py:52)"], stages.DECODE),
        (
            [LOOP, ANSWER, "Authorizer.authorize (app/authorize/authorizer.py:38)", "decide (app/pdp/decide.py:22)"],
            stages.DECIDE,
        ),
        ([LOOP, ANSWER, "Redactor._walk (app/redaction/redactor.py:51)"], stages.DECODE),
        ([LOOP, ANSWER, "CommitDecision.__call__ (app/authorize/commit/decision.py:63)"], stages.COMMIT),
        ([LOOP, "Connection._flush (app/redis_client/connection.py:71)"], stages.SEND),
        ([LOOP, "Connection.data_received (app/redis_client/connection.py:77)"], stages.REPLY),
        ([LOOP, "Outgoing.write (app/http/protocol/outgoing.py:20)", "uv__write (stream.c:1)"], stages.WRITE),
        ([LOOP, "uv__io_poll (linux.c:1452)", "epoll_pwait (libc.so.6)"], stages.POLL),
        ([LOOP, "uv__read (stream.c:1063)", "read (libc.so.6)"], stages.READ),
        ([LOOP, "Loop__run (loop.c:20313)"], stages.LOOP),
        ([LOOP], stages.LOOP),
    ],
)
def test_a_stack_belongs_to_the_innermost_stage_it_was_caught_in(frames, stage):
    """A helper's time counts for its caller's stage; only time outside our frames is the loop's."""
    assert stages.stage_of(frames) == stage


def test_every_file_of_the_hot_path_that_a_rule_names_exists():
    """A file that was renamed would quietly become "other"."""
    named = [
        "http/protocol/http_protocol",
        "http/protocol/connection",
        "http/protocol/head",
        "http/protocol/incoming",
        "http/protocol/outgoing",
        "authorize/authorizer",
        "redis_client/pipelined",
        "authorize/commit/decision",
        "http/api/authorize",
        "http/tool_calls",
        "http/bodies",
    ]
    named += [
        "http/authentication",
        "authorize/authenticator",
        "authorize/agent_cache",
        "redaction/redactor",
        "pdp/decide",
    ]

    assert [name for name in named if not (ROOT / "app" / f"{name}.py").is_file()] == []
