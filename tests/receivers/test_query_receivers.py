"""Queries and headers at a gateway's door: what PHP, Rack and Node read there has been judged."""

import http.client
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from servers import Replica, free_port, wait_for_port
from tenants import Tenant

from app.errors import Invalid
from app.http.api.ext_authz import _query

pytestmark = pytest.mark.stores
HERE = Path(__file__).parent
GIVEN = 9000
ENV = {"PATH": "/usr/bin:/bin", "NODE_PATH": "/usr/share/nodejs", "LANG": "C.UTF-8"}
_WRITTEN = """
    amount=9000 amount=5&amount=9000 amount=9000&amount=5 Amount=9000 amount=5&Amount=9000 am%6Funt=9000 AM%4FUNT=9000
    %20amount=9000 +amount=9000 amount=5&%20amount=9000 %09amount=9000 amount%20=9000 amount%00=9000 a&amount=9000
    amount[]=9000 amount=5&amount[]=9000 amount[]=5&amount[]=9000 amount[0]=9000 amount%5B%5D=9000 amount[x]=9000
    [amount]=9000 []amount=9000 amount]=9000 amount[=9000 amount[[]=9000 ]amount=9000 amount[]x=9000 amount[%20]=9000
    amount%5D=9000 amount%255B%255D=9000 amount[a][b][c][d][e][f][g]=9000 amount[][][a]=9000 amount[a.b]=9000
    amount;=9000 x;amount=9000 amount=5;amount=9000 amount%3B=9000 &&amount=9000 =&amount=9000 .amount=9000
    the.amount=9000 the%20amount=9000 the+amount=9000 the[amount=9000 the_amount=5&the.amount=9000 the_amount=9000
    the.amount=9000&the_amount=5 the_amount=5&the%2Eamount=9000 the_amount=5&the[amount=9000 the%5Bamount=9000
    amount=5&amount.x=9000 amount.x=9000 amount.x=9000&amount=5 amount.x[]=9000 x.amount=9000
"""
ATTACKS = [*_WRITTEN.split(), "&".join(f"p{number}=1" for number in range(1100)) + "&amount=9000"]


class Readers:
    """What each program reads in queries: for each query, pairs of a path and a text, by the program's name."""

    def __init__(self, program):
        self._commands = {
            "PHP": [program("php", "queries at a gateway"), str(HERE / "queries.php")],
            "Rack": [program("ruby", "queries at a gateway"), str(HERE / "queries.rb")],
            "Node": [program("node", "queries at a gateway"), str(HERE / "queries.mjs")],
        }

        for command in self._commands.values():
            if subprocess.run(command, input="", env=ENV, text=True, capture_output=True, check=False).returncode:
                missing = f"queries at a gateway: a library of {command[1]} is missing"
                pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)

    def read(self, queries):
        lines = "".join(f"{query}\n" for query in queries)
        said = {
            name: subprocess.run(command, input=lines, env=ENV, capture_output=True, text=True, check=True).stdout
            for name, command in self._commands.items()
        }
        found = {name: [json.loads(line) for line in text.splitlines()] for name, text in said.items()}
        of_node = zip(*found.pop("Node"), strict=True)
        found |= zip(("qs", "qs with dots", "querystring", "URLSearchParams"), of_node, strict=True)
        found["any case"] = [
            [[[name.casefold()], value] for name, value in parse_qsl(query, keep_blank_values=True)]
            for query in queries
        ]
        assert all(len(each) == len(queries) for each in found.values())
        return found


@pytest.fixture(scope="module")
def readers(program):
    return Readers(program)


def judged(query):
    """What a policy sees, or None if the query is refused."""
    try:
        return _query(query.encode())
    except Invalid:
        return None


def seen(values, path):
    """The texts that a policy finds under the name; a number in it may be that of a value among several."""
    root, *indexes = path
    parts = [rf"(?:\[(?:{each})?\])?" if each.isdigit() else rf"\[{re.escape(each)}\]" for each in indexes]
    found = [value for name, value in values.items() if re.fullmatch(re.escape(root) + "".join(parts), name)]
    return [text for value in found for text in ([value] if isinstance(value, str) else value)]


def unjudged(values, read, *, any_case):
    """What a program has read under a name, whole or in part, under which no policy has seen it."""
    values = {name.casefold(): value for name, value in values.items()} if any_case else values
    return [
        (path[:depth], text)
        for path, text in read
        for depth in range(1, len(path) + 1)
        if text not in seen(values, path[:depth])
    ]


def random_queries(count, seed):
    """Queries of a few names, of signs that the programs read in different ways, most of them well-formed."""
    chance = random.Random(seed)
    roots = [*"aab", "A", "a.b", "a b", "a_b", "a+b", "a.b.a", "_", ".a", "a."]
    indexes = ["", "", "", "[]", "[a]", "[b]", "[0]", "[1]", "[a][]", "[][a]", "[a][b]", "%5Ba%5D", "%5b%5D"]
    signs = [*" +._[]aA", "[]", "%5B", "%20", "%2E", "[ a]", "%5B%5D"]

    def name():
        made = chance.choice(roots) + chance.choice(indexes)
        place = chance.randrange(len(made) + 1)
        return made if chance.random() < 0.7 else made[:place] + chance.choice(signs) + made[place:]

    return ["&".join(f"{name()}={number}" for number in range(chance.choice([1, 2, 2, 3]))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_a_program_reads_in_a_query_was_judged(readers, seed):
    """Under the name that it reads it as: each name of its own reading, and each name that has it as a part."""
    passed = {
        query: values for query in [*ATTACKS, *random_queries(4000, seed)] if (values := judged(query)) is not None
    }
    assert len(passed) > 200
    wrong = [
        (program, query, left)
        for program, found in readers.read(list(passed)).items()
        for (query, values), read in zip(passed.items(), found, strict=True)
        if (left := unjudged(values, read, any_case=program == "any case"))
    ]
    assert wrong[:5] == []


@pytest.fixture(scope="module")
def tenant(store):
    running = Replica(store.url, REMIT_COMPACT="false", REMIT_EXT_AUTHZ_HEADERS="X-Tenant")
    made = Tenant(store.url, running)
    agent = made.new_agent(alias="browser")["id"]
    small = {"enum": ["1", "5"], "required": False}
    mine = {"headers.x-tenant": {"enum": ["mine"], "required": False}}
    tools = {"type": "tool_allowlist", "tools": ["http.get"]}
    rules = {"query.amount": small, "query.the_amount": small, **mine}
    made.new_policy(agent, tools, {"type": "parameter_constraint", "tools": ["*"], "parameters": rules})
    yield made
    made.close()
    running.stop()


def passes(tenant, target, headers=()):
    connection = http.client.HTTPConnection("127.0.0.1", tenant.replica.port, timeout=30)
    connection.putrequest("GET", f"/access/v1/ext-authz{target}", skip_accept_encoding=True)
    for name, value in (("Authorization", f"Bearer {tenant.read_key}"), ("X-Remit-Agent", "browser"), *headers):
        connection.putheader(name, value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    assert status in {200, 403}
    return status == 200


def test_no_program_reads_an_amount_that_was_not_allowed(tenant, readers):
    """The policy lets 1 and 5 pass, or no amount at all; each program reads some of the attacks as 9000."""
    passed = [query for query in ATTACKS if passes(tenant, f"/x?{query}")]
    assert passes(tenant, "/x?amount=5&filter[x]=1&ids[]=1&ids[]=2&sort.by=name")
    steals = {"amount", "the_amount"}

    def stolen(program, query, read):
        return any(path[0] in steals and text == str(GIVEN) for path, text in read)

    read = readers.read(ATTACKS)
    assert {
        program
        for program, found in read.items()
        if any(stolen(program, *each) for each in zip(ATTACKS, found, strict=True))
    } == set(read)
    wrong = [
        (program, query)
        for program, found in read.items()
        for query, each in zip(ATTACKS, found, strict=True)
        if query in passed and program != "any case" and stolen(program, query, each)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "query", ["_method=DELETE", ".method=DELETE", "_Method=DELETE", "_method[]=DELETE", "%24httpMethod=DELETE"]
)
def test_a_query_names_no_other_method(tenant, query):
    """Symfony and Laravel run the method that a parameter names, like that of a header."""
    assert not passes(tenant, f"/x?{query}")


@pytest.fixture(scope="module")
def php(program, tmp_path_factory):
    """The port of a real server of PHP that answers with the tenant that it reads in the headers."""
    folder, port = tmp_path_factory.mktemp("php"), free_port()
    (folder / "index.php").write_text("<?php echo $_SERVER['HTTP_X_TENANT'] ?? '';")
    command = [program("php", "headers at a gateway"), "-S", f"127.0.0.1:{port}", "-t", str(folder)]
    server = subprocess.Popen(command, stdout=sys.stderr, stderr=sys.stderr)
    wait_for_port(port, server)
    yield port
    server.terminate()
    server.wait(60)


def test_no_other_spelling_of_a_header_is_read_unjudged(tenant, php):
    """PHP reads X.Tenant and X_Tenant as X-Tenant, and CGI any other sign."""
    assert passes(tenant, "/x", [("X-Tenant", "mine")])
    read = set()
    for sign in "-_.!#$%&'*+^`|~":
        header = (f"X{sign}Tenant", "another")
        connection = http.client.HTTPConnection("127.0.0.1", php, timeout=30)
        connection.request("GET", "/", headers=dict([header]))
        read |= {sign} if connection.getresponse().read() == b"another" else set()
        connection.close()
        assert not passes(tenant, "/x", [header])
        assert not passes(tenant, "/x", [("X-Tenant", "mine"), header])
    assert read >= set("-_.")
