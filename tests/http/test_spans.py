"""`from` and `to` mean the same wherever they are taken: over HTTP, and on the command line."""

import json
from datetime import datetime

import click
import pytest
from click.testing import CliRunner

from app.cli.main import main
from app.http.routes import document


def taking_a_span():
    """The paths of all queries with `from` and `to`."""
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            if {"from", "to"} <= {each.get("name") for each in operation.get("parameters", ())}:
                yield method, path


PATHS = sorted(path for _, path in taking_a_span())
STREAM = "/v1/audit-logs/stream"
"""It answers with what is to come, so it has no end."""


def commands(command, path=()):
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))


COMMANDS = {
    path: ["x" for each in command.params if isinstance(each, click.Argument) and each.required]
    for path, command in commands(main)
    if {"--from", "--to"} <= {o for p in command.params for o in p.opts}
}
"""Each command with its arguments."""


def test_there_are_spans_to_ask_for():
    """So the tests below are about something."""
    assert "/v1/audit-logs" in PATHS
    assert "/v1/changes" in PATHS
    assert ("audit", "query") in COMMANDS
    assert ("policies", "replay") in COMMANDS


@pytest.mark.parametrize("day", ["%Y-%m-%d", "%Y%m%d", "%G-W%V-%u"])
def test_one_day_is_the_whole_day(tenant, day):
    """From its start to its end, in whichever spelling."""
    new = tenant.new_agent()
    agent, made = new["id"], tenant.authorize(new["id"])
    begin, end = (datetime.fromisoformat(each) for each in (new["createdAt"], made["timestamp"]))
    span = {"from": begin.strftime(day), "to": end.strftime(day)}
    assert [each["id"] for each in tenant.log(agent_id=agent, **span)] == [made["id"]]
    assert len(tenant.admin.get("/v1/changes", params={"resource_id": agent, **span}).json()) == 1
    answer = tenant.admin.post("/v1/replay", json={"agent_id": agent, **span})
    assert json.loads(answer.text.splitlines()[-1])["report"]["judged"] == 1


@pytest.mark.parametrize("path", [path for path in PATHS if path != STREAM])
def test_a_span_that_ends_before_it_begins_is_400(tenant, path):
    """An empty answer would say that nothing happened; the same moment is a span."""
    path = path.format(agent_id=tenant.new_agent()["id"]) if "{" in path else path
    for span, status in (
        ({"from": "2026-11-21", "to": "2026-11-20"}, 400),
        ({"from": "2026-11-20T00:00:01Z", "to": "2026-11-20T00:00:00Z"}, 400),
        ({"from": "2026-11-20T00:00:00Z", "to": "2026-11-20T00:00:00Z"}, 200),
        ({"from": "2026-11-20", "to": "2026-11-20"}, 200),
    ):
        answer = tenant.admin.get(path, params=span)
        assert answer.status_code == status, answer.text
        if status == 400:
            assert answer.json()["error"]["details"][0]["path"] == "from"


def test_a_replay_of_a_span_that_ends_before_it_begins_is_400(tenant):
    """Its body has them."""
    body = {"agent_id": tenant.new_agent()["id"], "from": "2026-11-21", "to": "2026-11-20"}
    assert tenant.admin.post("/v1/replay", json=body).status_code == 400


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_command_line_refuses_such_a_span(words):
    """As misuse, before anything is asked."""
    by = ["--by", "tool"] if words[-1] == "counts" else []
    told = CliRunner().invoke(
        main,
        [*words, *COMMANDS[words], *by, "--from", "2026-11-21", "--to", "20261120"],
        env={"REMIT_REDIS_URL": "redis://127.0.0.1:1"},
    )
    assert (told.exit_code, "--from must not be after --to, which is 2026-11-20T23:59:59.999Z" in told.output) == (
        2,
        True,
    )
