"""The report of a replay for people, in a terminal or in a pull request."""

from collections.abc import Iterable, Iterator

from app.model.decisions import Result
from app.model.replays import Decider, Flip, FlipSample, ReplayReport
from app.policy_tools.files.comparison import COMMENT_LENGTH, as_code, up_to

_UNJUDGED = {
    "hidden": "a rule reads what the log redacts or shortens",
    "limits": "whether a limit had room depends on such a call, or on less than a millisecond",
    "edited": "the policies were changed in the same millisecond, by an older release",
    "unknown": "the policies of that time are not kept",
    "unreadable": "the entry cannot be read",
}


def terminal_lines(report: ReplayReport) -> Iterator[str]:
    """The report as plain lines; flips come first, and among them those that would now be allowed."""
    yield headline(report)
    for (was, becomes), flips in _by_direction(report):
        yield ""
        yield f"{was} → {becomes}: {_calls(sum(flip.count for flip in flips))}"
        for flip in flips:
            yield f"  {flip.count:>8,}  {flip.tool_name}"
            yield f"            then  {_decided(flip.by)}"
            yield f"            now   {_decided(flip.now_by)}"
            for sample in flip.samples:
                yield f"            {sample.timestamp}  entry {sample.id}  agent {sample.agent_id}"
                yield f"              then  {sample.reason}"
                yield f"              now   {sample.new_reason}"
    notes = list(_notes(report))
    if notes:
        yield ""
        yield from notes


def markdown_lines(report: ReplayReport, most: int = COMMENT_LENGTH) -> Iterator[str]:
    """The report as Markdown for a pull request, in about `most` characters.

    Callers' strings appear as plain text: they cannot produce markup or mention a user.
    """
    yield f"**{headline(report)}**"
    if report.flips:
        yield ""
        yield "| Calls | Was | Becomes | Tool | Decided by | Now by |"
        yield "|---:|---|---|---|---|---|"
        yield from up_to(most // 2, map(_row, report.flips))
        yield ""
        yield "<details><summary>Samples</summary>"
        yield ""
        yield from up_to(most // 2, (_sampled(flip, sample) for flip in report.flips for sample in flip.samples))
        yield ""
        yield "</details>"
    notes = list(_notes(report))
    if notes:
        yield ""
        yield from (f"- {note}" for note in notes)


def headline(report: ReplayReport) -> str:
    """A sentence with the numbers of calls that flipped and that could not be judged."""
    flips = (
        "nothing flips"
        if not report.flipped
        else f"{_calls(report.flipped)} {'flip' if report.flipped > 1 else 'flips'}"
    )
    unjudged = f", {report.unjudged.total:,} cannot be judged" if report.unjudged.total else ""
    return f"{_calls(report.judged)} judged from {report.from_} to {report.to}: {flips}{unjudged}"


def _notes(report: ReplayReport) -> Iterator[str]:
    for name, why in _UNJUDGED.items():
        if count := getattr(report.unjudged, name):
            yield f"{_calls(count)} cannot be judged: {why}"
    if report.not_listed:
        yield f"{_calls(report.not_listed)} flip besides: there are too many kinds of them to be listed"
    if report.approved:
        yield f"{_calls(report.approved)} people had approved; the draft asks people, too, and their yes was kept"
    if report.trips:
        yield f"Denial breakers suspend an agent {'once' if report.trips == 1 else f'{report.trips:,} times'}"
    if report.inactive:
        yield f"{_calls(report.inactive)} left out: the agent was not active"


def _by_direction(report: ReplayReport) -> Iterable[tuple[tuple[Result, Result], list[Flip]]]:
    directions: dict[tuple[Result, Result], list[Flip]] = {}
    for flip in report.flips:
        directions.setdefault((flip.was, flip.becomes), []).append(flip)
    return directions.items()


def _decided(by: Decider) -> str:
    if by.policy_name is None and by.policy_id is None:
        return "no policy: default deny"
    rule = "" if by.rule is None else f", rule {by.rule.index} {by.rule.type}"
    return f'"{by.policy_name or by.policy_id}"{rule}'


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count:,} calls"


def _row(flip: Flip) -> str:
    becomes = f"**{flip.becomes}**" if flip.becomes is Result.ALLOWED else flip.becomes.value
    cells = (f"{flip.count:,}", flip.was.value, becomes, as_code(flip.tool_name))
    return f"| {' | '.join(cells)} | {as_code(_decided(flip.by))} | {as_code(_decided(flip.now_by))} |"


def _sampled(flip: Flip, sample: FlipSample) -> str:
    what = f"{flip.was} → {flip.becomes}: {as_code(flip.tool_name)}, entry {as_code(sample.id)} at {sample.timestamp}"
    return f"- {what}: {as_code(sample.reason)} → {as_code(sample.new_reason)}"
