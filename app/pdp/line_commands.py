"""What a shell line of a call runs, command by command, for the people who are asked about it."""

from collections.abc import Iterator

from app.language.ambiguous import Ambiguous
from app.language.value_paths import ValuePath
from app.model.approvals import LineCommand
from app.model.command_constraint import CommandConstraint
from app.model.decisions import AuthorizeRequest
from app.model.text import with_hidden_shown
from app.pdp.clauses import without_secrets
from app.pdp.command_tests import CommandTest
from app.pdp.compiled import CompiledAgent
from app.pdp.constraints import IsSecret
from app.pdp.operands import NOTHING


def line_commands(agent: CompiledAgent, request: AuthorizeRequest, is_secret: IsSecret) -> list[LineCommand]:
    """The commands of the call's line, as the first rule judges it by which not all of them pass.

    Empty if no rule judges a line, or the line has the name of a secret. Secrets are redacted as in the parameters.
    """
    for of, name, constraint in _constraints(agent, request):
        if is_secret(name):
            continue
        try:
            values, _ = ValuePath(name).find((request.context or NOTHING) if of == "context" else request.parameters)
        except Ambiguous:
            continue
        test = CommandTest(constraint, secret=False)
        for value in values:
            report = test.report(value, request.parameters, request.context or NOTHING)
            if report.why is not None and type(value) is str:
                return [LineCommand(_shown(value, is_secret), passed=False, why=_shown(report.why, is_secret))]
            if any(each.why is not None for each in report.commands):
                return [
                    LineCommand(
                        _shown(each.text, is_secret),
                        passed=each.why is None,
                        why=None if each.why is None else _shown(each.why, is_secret),
                    )
                    for each in report.commands
                ]
    return []


def _constraints(agent: CompiledAgent, request: AuthorizeRequest) -> Iterator[tuple[str, str, CommandConstraint]]:
    for _, rule in agent.rules_for(request.tool_name):
        for where, of, name, constraint in rule.rule.constraints():
            if not where and isinstance(constraint.command, CommandConstraint):
                yield of, name, constraint.command


def _shown(text: str, is_secret: IsSecret) -> str:
    return with_hidden_shown(without_secrets(text, is_secret).replace("\n", "\\n").replace("\t", "\\t"))
