"""`remit policy test`: tests policy files without a store and without a service."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli.addresses import KEY, ServiceUrl
from app.cli.api import over_http
from app.cli.find import find_agent
from app.cli.options import JSON
from app.cli.output import ANSWER_IS_NO, print_json
from app.cli.policy_apply import FILES, VALUES

if TYPE_CHECKING:
    from app.policy_tools.files.test_file import ReadTests
    from app.policy_tools.files.test_run import TestOutcome
    from app.policy_tools.files.values import Values


@click.command("test")
@click.option("--url", type=ServiceUrl(), help=f"Test what is in force at this service, with the key in {KEY}.")
@VALUES
@click.option("--strict", is_flag=True, help="Also fail if a claim (`never`) was tried, but is not proved.")
@JSON
@FILES
def test_policies(
    url: str | None, values_file: Path | None, strict: bool, as_json: bool, paths: tuple[Path, ...]
) -> None:
    """Run the tests and claims in *.test.yaml files; a folder means all of them in it. Exits with 3 if one fails.

    Limits and sessions are simulated. Every test starts with empty counters and no history. With --url, the policies
    are those in force for the agent there, with its groups there, and not those in the files.
    """
    from app.policy_tools.files.policy_file import FileError, find_files, read_values
    from app.policy_tools.files.test_file import read_test_file
    from app.policy_tools.files.test_run import run_tests

    try:
        values = None if values_file is None else read_values(values_file)
        read = [read_test_file(path) for path in find_files(paths, tests=True)]
        run = (run_tests(each, values) if url is None else _run_at(url, each, values) for each in read)
        found = [outcome for outcomes in run for outcome in outcomes]
    except FileError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        print_json([{**_plain(each), "passed": each.passed} for each in found])
    else:
        _print(found)
    if not all(each.passed and (each.is_proved or not strict) for each in found):
        raise click.exceptions.Exit(ANSWER_IS_NO)


def _run_at(url: str, read: "ReadTests", values: "Values | None") -> "list[TestOutcome]":
    """The result of each test in a file at a service. Raises FileError, ClickException."""
    import msgspec

    from app.model.claims import ClaimResult
    from app.policy_tools.files.test_run import ActualResult, TestOutcome, tested_agent

    with closing(over_http(url, "a key with the scope view")) as api:
        body = {"agent_id": find_agent(api, tested_agent(read, values))["id"], "start": read.file.start}
        body |= {"tests": msgspec.to_builtins(read.file.tests), "never": msgspec.to_builtins(read.file.never)}
        answer = api.call("POST", "/v1/policies/test", body)
    claims = msgspec.convert(answer["never"], list[ClaimResult])
    return [
        TestOutcome(
            str(read.path),
            read.document.line_of(f"$.tests[{index}]"),
            each["name"],
            each["problem"],
            msgspec.convert(each["got"], ActualResult),
        )
        for index, each in enumerate(answer["tests"])
    ] + [TestOutcome.of_claim(read, index, each) for index, each in enumerate(claims)]


def _plain(outcome: "TestOutcome") -> dict[str, object]:
    import msgspec

    plain: dict[str, object] = msgspec.to_builtins(outcome)
    return plain


def _print(outcomes: "list[TestOutcome]") -> None:
    from app.model.text import with_hidden_shown

    file = None
    for each in outcomes:
        if each.file != file:
            file = each.file
            click.echo(file)
        name = with_hidden_shown(each.name)
        if each.passed:
            said = "" if each.claim is None else f": {with_hidden_shown(each.claim)}"
            word, colour = ("ok     ", "green") if each.is_proved else ("tried  ", "yellow")
            click.echo(f"{click.style(f'  {word}', fg=colour)}{name}{said}")
        else:
            click.echo(click.style("  failed", fg="red") + f" {name} (line {each.line})\n         {each.problem}")
    untimed = {name: each.got.at for each in outcomes if each.got for name in each.got.untimed}
    for name, at in untimed.items():
        said = f'note: "{with_hidden_shown(name)}" depends on the time, and no test says `at`: all ran at {at}'
        click.echo(said, err=True)
    failed = sum(not each.passed for each in outcomes)
    click.echo(f"{len(outcomes) - failed} passed, {failed} failed")
