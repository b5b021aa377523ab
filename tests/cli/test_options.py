"""Every option of every command takes a value, or is a flag: none is silently left out."""

import click
import pytest
from click.testing import CliRunner

from app.cli.main import main

EMPTY = {
    ("agents", "update", "--alias"): "removes it",
    ("agents", "update", "--description"): "removes it",
    ("policies", "update", "--managed-by"): "no files manage it",
}
"""The options for which an empty text means something, and the words that say so in their help."""


def commands(command, path=()):
    """Every command with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))


PARAMETERS = [
    (path, each)
    for path, command in commands(main)
    for each in command.params
    if isinstance(each, click.Argument) or not (each.is_flag or each.count)
]
OPTIONS = [(path, each) for path, each in PARAMETERS if isinstance(each, click.Option)]


def refusal(*words):
    """What the command says instead of running."""
    answer = CliRunner().invoke(main, words, env={"REMIT_REDIS_URL": "redis://127.0.0.1:1"})
    assert answer.exit_code == 2, (words, answer.output)
    return " ".join(answer.output.replace("\u2502", " ").split())


def test_an_option_without_its_value_is_refused():
    """Whatever else is given: the last word, or followed by another option, which is then its value."""
    for path, option in OPTIONS:
        for flag in option.opts:
            assert f"Option '{flag}' requires" in refusal(*path, flag), path


def test_an_empty_value_is_refused():
    """`--agent "$AGENT"` without a variable of this name filters nothing; so does an argument."""
    empty = {}
    for path, each in PARAMETERS:
        if isinstance(each, click.Argument):
            assert "must not be empty" in refusal(*path, *[""] * abs(each.nargs)), path
        elif "empty" in (each.help or ""):
            empty[(*path, each.opts[0])] = each.help
        else:
            for words in ([each.opts[0], *[""] * each.nargs], [f"{each.opts[0]}="]):
                assert "must not be empty" in refusal(*path, *words), path
    assert empty.keys() == EMPTY.keys()
    assert all(said in empty[name] for name, said in EMPTY.items())


@pytest.mark.parametrize("value", ["-24h", "-7d", "-2w", "-90s", "-15m"])
def test_a_time_may_begin_with_a_dash(value):
    """It is a value, not another option; what is refused is the store that is not there."""
    for words in (("audit", "query"), ("audit", "counts", "--by", "tool"), ("audit", "export"), ("changes",)):
        answer = CliRunner().invoke(main, [*words, "--from", value], env={"REMIT_REDIS_URL": "redis://127.0.0.1:1"})
        assert (answer.exit_code, "127.0.0.1:1" in answer.output) == (1, True), answer.output
