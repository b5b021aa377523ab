"""Filters of the API are options of the command line."""

from enum import StrEnum
from typing import Annotated

import click
import pytest
from click.testing import CliRunner
from msgspec import Meta, field

from app.cli import approvals, audit, changes
from app.cli.options import Option, filters
from app.model.approvals import ApprovalFilters
from app.model.audit import AuditFilters
from app.model.changes import ChangeFilters, ResourceType
from app.model.query_fields import AgentFilter, QueryFields, TimeMs
from app.policy_tools.struct_schemas.queries import parameters_of


class Colour(StrEnum):
    """Any choice."""

    RED = "red"
    BLUE = "blue"


class Sample(QueryFields, frozen=True):
    """One field of each kind.

    text: Only this text.
    colour: Only this colour.
    many: Only so many.
    whole: Only whole ones.
    since_ms: Only since then.
    agent_id: Only of this agent.
    """

    text: str | None = None
    colour: Colour | None = None
    many: Annotated[int, Meta(ge=1, le=9)] = 3
    whole: bool = False
    since_ms: TimeMs | None = field(name="since", default=None)
    agent_id: AgentFilter | None = None


def run(*words, **differing):
    """The query that the command gets, or what it prints instead."""
    got = []

    @click.command()
    @filters(Sample, **differing)
    def command(query):
        got.append(query)

    printed = CliRunner().invoke(command, words, catch_exceptions=False).output
    return got[0] if got else printed


def test_a_field_of_the_struct_is_an_option():
    """With its name; nothing else has to be written. The command gets what to send: as text, and only what was said."""
    assert run() == {}
    words = ("--whole", "--since", "2026-11-20", "--colour", "blue", "--many", "4", "--text", "x", "--agent-id", "bot")
    said = {"many": "4", "whole": "true", "since": "2026-11-20", "colour": "blue", "text": "x", "agent_id": "bot"}
    assert run(*words) == said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--colour", "green"), "is not one of 'red', 'blue'"),
        (("--many", "10"), "must be a whole number from 1 to 9"),
    ],
)
def test_a_value_that_the_api_refuses_is_refused(words, message):
    """Before anything is opened or sent."""
    assert message in " ".join(run(*words).replace("\u2502", " ").split())


def test_an_option_may_have_another_name_type_and_description():
    """Such as an agent's name, which the API does not take."""
    differing = {"agent_id": Option("--agent", click.STRING, "Any name.")}
    assert run("--agent", "4+2", **differing) == {"agent_id": "4+2"}
    assert "Any name." in run("--help", **differing)


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        (audit.query_entries, AuditFilters),
        (audit.tail_log, AuditFilters),
        (audit.export_log, AuditFilters),
        (changes.changes, ChangeFilters),
        (approvals.list_approvals, ApprovalFilters),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_every_filter_of_the_api_is_an_option(command, fields):
    """Of each command that reads the same, with the API's description unless it says more."""
    options = {each.name: each.help for each in command.params}
    assert {each.attribute for each in parameters_of(fields)} <= options.keys()
    assert {each.description for each in parameters_of(fields)} & set(options.values())


def test_the_trail_can_be_filtered_by_every_type_it_has():
    """Several as well; help and completion name them, and a word that is none is refused before anything is asked."""
    [option] = (each for each in changes.changes.params if each.name == "resource_type")
    context = click.Context(changes.changes)

    def completed(begun):
        return [each.value for each in option.type.shell_complete(context, option, begun)]

    assert completed("") == list(ResourceType)
    assert completed("agent,pol") == [f"agent,{each}" for each in ResourceType if each.startswith("pol")]
    assert option.help.endswith(f"One of: {', '.join(ResourceType)}.")
    assert option.type.convert("agent,policy", option, context) == "agent,policy"
    with pytest.raises(click.BadParameter, match="must be one or several of agent, "):
        option.type.convert("agent,polcy", option, context)
