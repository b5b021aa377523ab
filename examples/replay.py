"""Replay a file of tool calls against a running service, and say what was allowed, denied and escalated, and why.

Needs Python 3.11 and nothing else. `--help` tells how to use it; examples/README.md shows what comes out.
"""

import argparse
import http.client
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from inputs import CannotBegin, described, read_calls, read_policies
from report import RESULTS, UNANSWERED, Answer, print_report, summarise

TIMEOUT_S = 10
MAX_CONCURRENCY = 256
ABOUT = """\
Replay a file of tool calls against a running service, and say what was allowed, denied and escalated, and why.

A new agent is created with the policies of the file --policies, and every call of the file CALLS is sent to
POST /v1/authorize as a call of that agent. Nothing is executed: the service only decides. The agent stays, so that
you can look at its audit log; its id is printed on stderr, like the progress.
"""
MORE = """\
files:
  CALLS       one JSON object a line, with `tool` and `arguments`, and `conversation` or `task`: the session, in
              which calls are sent one after the other; `records` are reported once the call is allowed; other
              fields serve --only and --by
  --policies  {"agent": ..., "policies": [...]}: bodies of POST /v1/agents and, without agent_id, POST /v1/policies

exit status:
  0    every call was answered, whatever the answer
  1    some calls were not answered; the report says how many and why
  2    it could not begin: an option, a file, the connection, the key, or a policy that the service refuses
  130  interrupted; the report covers the calls until then

examples:
  python3 examples/replay.py --key $KEY --policies examples/airline/policies.json --any-hour \\
      examples/data/airline.jsonl
  python3 examples/replay.py --key $KEY --policies examples/assistants/banking.json --only suite=banking \\
      --by kind,tool examples/data/injections.jsonl
"""


class Service:
    """The API as one key sees it; every thread has a connection of its own, kept open."""

    def __init__(self, url: str, key: str) -> None:
        try:
            parts = urlsplit(url)
            self._host, self._port, self._path = parts.hostname or "", parts.port, parts.path.rstrip("/")
        except ValueError:
            raise CannotBegin(f"--url {url}: write it as http://host:port") from None
        if parts.scheme not in {"http", "https"} or not self._host:
            raise CannotBegin(f"--url {url}: write it as http://host:port")
        if not (key.isascii() and key.isprintable() and key):
            raise CannotBegin("--key: is not an API key; it reads svc_ and 32 hex digits")
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._thread = threading.local()

    def post(self, path: str, body: object) -> tuple[int, Any]:
        """Status and JSON of the answer. Raises OSError, HTTPException or ValueError where there is none.

        Nothing is sent twice: a decision whose answer was lost may have been made all the same.
        """
        connection = getattr(self._thread, "connection", None)
        if connection is None:
            connection = self._thread.connection = self._kind(self._host, self._port, timeout=TIMEOUT_S)
        try:
            connection.request("POST", self._path + path, json.dumps(body).encode(), self._headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except BaseException:
            connection.close()
            raise

    def create(self, path: str, body: object, what: str) -> dict[str, Any]:
        """What was created. Raises CannotBegin with the service's own sentence."""
        try:
            status, answer = self.post(path, body)
        except FAULTS as error:
            raise CannotBegin(
                f"nothing usable answers at {self._host}:{self._port or ''}: {described(error)}"
            ) from None
        if status != HTTPStatus.CREATED:
            raise CannotBegin(f"{what} was refused: {refusal(status, answer)}")
        created: dict[str, Any] = answer
        return created


FAULTS = (OSError, http.client.HTTPException, ValueError)


def refusal(status: int, answer: Any) -> str:
    """The service's error in one line."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return f"status {status}"
    return f"{status} {error.get('code')}: {error.get('message')}"


def create_agent(service: Service, bodies: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The new agent's id, and the names of its policies by their ids."""
    agent = {name: value for name, value in bodies.get("agent", {"name": "replay"}).items() if name != "alias"}
    agent_id = service.create("/v1/agents", agent, "the agent")[
        "id"
    ]  # an alias is one agent's, and each run has its own
    names = {}
    # In the file's order: of policies with equal priority the oldest that gives the result is the one named.
    for policy in bodies["policies"]:
        created = service.create("/v1/policies", policy | {"agent_id": agent_id}, f'policy "{policy["name"]}"')
        names[created["id"]] = created["name"]
    return agent_id, names


def session_of(call: dict[str, Any]) -> str:
    """What the call belongs to: its `conversation` or `task`, or an empty string."""
    named = (call.get(name) for name in ("conversation", "task"))
    return next((str(each) for each in named if each not in (None, "")), "")


def report_records(service: Service, decision_id: str, records: Any) -> None:
    """Report what the call's result said, as a runtime does that has executed it. Raises as `post`."""
    status, answer = service.post(f"/v1/decisions/{decision_id}/outcome", {"status": "executed", "records": records})
    if status != HTTPStatus.OK:
        raise ValueError(f"records were refused: {refusal(status, answer)}")


def authorize(service: Service, agent_id: str, names: dict[str, str], call: dict[str, Any]) -> Answer:
    """The answer to one call, sent once; if it is allowed and has records, they are reported."""
    body = {"agent_id": agent_id, "tool_name": call["tool"], "parameters": call["arguments"]}
    if session := session_of(call):
        body["context"] = {"session": session}
    sent = time.perf_counter()
    try:
        status, answer = service.post("/v1/authorize", body)
    except FAULTS as error:
        return Answer(call, UNANSWERED, "no answer", described(error))
    caller_ms = (time.perf_counter() - sent) * 1000
    if status != HTTPStatus.OK:
        return Answer(call, UNANSWERED, f"status {status}", refusal(status, answer))
    if answer["allowed"] and "records" in call:
        try:
            report_records(service, answer["id"], call["records"])
        except FAULTS as error:
            return Answer(call, UNANSWERED, "no report", described(error))
    decided_by, rule = names.get(answer["policyId"], "no policy"), answer["rule"]
    if rule is not None:
        decided_by += f", rule {rule['index']} ({rule['type']})"
    return Answer(call, answer["result"], decided_by, answer["reason"], caller_ms, answer["latencyMs"])


def replay(
    service: Service, agent_id: str, names: dict[str, str], calls: Sequence[dict[str, Any]], concurrency: int
) -> Iterator[Answer]:
    """The answers in the order of the calls; at most `concurrency` calls are under way at a time.

    A session goes on only after its last answer, however many of them there are at a time.
    """

    def ask(call: dict[str, Any], before: Future[Answer] | None) -> Answer:
        if before is not None:
            wait([before])
        return authorize(service, agent_id, names, call)

    pool, last, asked = ThreadPoolExecutor(concurrency), dict[str, Future[Answer]](), list[Future[Answer]]()
    try:
        for call in calls:
            session = session_of(call)
            asked.append(pool.submit(ask, call, last.get(session)))
            if session:
                last[session] = asked[-1]
        yield from (answer.result() for answer in asked)
    finally:
        pool.shutdown(cancel_futures=True)


def print_progress(counts: Counter[str], total: int, seconds: float) -> None:
    """A line on stderr that counts up on a terminal; elsewhere a line for every tenth of the way."""
    done, live = counts.total(), sys.stderr.isatty()
    if done < total and done % (10 if live else -(-total // 10)):
        return
    shown = ", ".join(f"{counts[result]} {result}" for result in (*RESULTS, UNANSWERED) if counts[result])
    end = "\r" if live and done < total else "\n"
    print(
        f"{done:>6} of {total} calls, {done / max(seconds, 1e-6):.0f}/s: {shown}", end=end, file=sys.stderr, flush=True
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status; the report is on stdout, everything else on stderr."""
    options = parse(arguments)
    try:
        calls = read_calls(options.calls, options.only)
        bodies = read_policies(options.policies, options.enable, any_hour=options.any_hour)
        service = Service(options.url, options.key)
        agent_id, names = create_agent(service, bodies)
    except CannotBegin as error:
        print(f"replay: {error}", file=sys.stderr)
        return 2
    print(f"agent {agent_id} has {len(names)} policies", file=sys.stderr)

    answers: list[Answer] = []
    counts: Counter[str] = Counter()
    status, began = 0, time.monotonic()
    try:
        for answer in replay(service, agent_id, names, calls, options.concurrency):
            answers.append(answer)
            counts[answer.result] += 1
            print_progress(counts, len(calls), time.monotonic() - began)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        status = 130
    heading = {"file": str(options.calls), "agentId": agent_id, "anyHour": options.any_hour}
    summary = heading | summarise(answers, options.by)
    if options.json:
        print(json.dumps(summary, indent=2))
    else:
        print_report(summary, options.by)
    return status or int(counts[UNANSWERED] > 0)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options; ends the process with status 2 and a sentence where they are wrong."""
    parser = argparse.ArgumentParser(
        prog="replay.py", description=ABOUT, epilog=MORE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("calls", metavar="CALLS", type=Path, help="file of tool calls")
    add("--policies", metavar="FILE", type=Path, required=True, help="file of the agent and its policies")
    add("--key", required=True, type=_key, help="an admin API key; @FILE reads it from a file, unseen by `ps`")
    add("--url", default="http://127.0.0.1:8080", help="where the service is (default: %(default)s)")
    add(
        "--any-hour",
        action="store_true",
        help="open every time window to all hours of all days, so that the outcome "
        "does not depend on when you run this",
    )
    add(
        "--enable",
        metavar="NAME",
        action="append",
        default=[],
        help="enable this policy, whatever its file says; can be repeated",
    )
    add(
        "--only",
        metavar="FIELD=VALUE",
        type=_pair,
        action="append",
        default=[],
        help="only calls with this value in this field; can be repeated",
    )
    add(
        "--by",
        metavar="FIELD,…",
        type=_fields,
        default=["tool"],
        help="fields whose values are the rows of the table (default: tool)",
    )
    add("--concurrency", metavar="N", type=_count, default=1, help="calls under way at a time (default: %(default)s)")
    add("--json", action="store_true", help="print the report as one JSON object")
    return parser.parse_args(arguments)


def _key(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text[1:]}: {described(error)}") from None


def _pair(text: str) -> tuple[str, str]:
    field, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text}: write FIELD=VALUE")
    return field, value


def _fields(text: str) -> list[str]:
    return text.split(",")


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_CONCURRENCY:
        raise argparse.ArgumentTypeError(f"{text}: give a number from 1 to {MAX_CONCURRENCY}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
