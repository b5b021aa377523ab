"""`remit` as a person or a script runs it: its output and exit codes."""

import json
import re
import shlex
import subprocess
import sys
import uuid
from pathlib import Path

import click
import httpx
import pytest
from click.testing import CliRunner
from servers import clean_env

from app.cli.groups import CommandGroup
from app.cli.main import SINGULAR, main
from app.cli.output import print_record, print_table

RAW_KEY = r"svc_[0-9a-f]{32}"
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"


def commands(command: click.Command, path: tuple[str, ...] = ()):
    """Every command of the command line with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))


COMMANDS = dict(commands(main))


@pytest.fixture(scope="module")
def remit(replica, run_remit):
    """Runs the command line on the store of the shared replica."""

    def run(*arguments: str, **env: str) -> subprocess.CompletedProcess:
        environment = clean_env() | {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"]} | env
        return run_remit(arguments, environment)

    return run


@pytest.fixture(scope="module")
def workspace(remit, ids_of_module):
    """A workspace of this module's: its name, its id and its first admin key."""
    name = f"command line {ids_of_module}"
    made = remit("workspace", "create", name, "--json")
    assert (made.returncode, made.stderr) == (0, "")
    return json.loads(made.stdout) | {"name": name}


@pytest.fixture(scope="module")
def ids_of_module(tmp_path_factory):
    """A string that no other run uses."""
    return tmp_path_factory.mktemp("command_line").stat().st_ino


def answer_to(replica, raw_key: str) -> int:
    """The status that a request with the key gets."""
    return httpx.get(f"{replica.base_url}/v1/agents", headers={"Authorization": f"Bearer {raw_key}"}).status_code


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_and_its_options(words):
    """In a sentence each; an unexplained option goes unnoticed."""
    told = CliRunner().invoke(main, [*words, "--help"])
    assert (told.exit_code, told.output[:7]) == (0, "Usage: ")
    command = COMMANDS[words]
    assert re.match(r"[A-Z`].*[.:]", command.help)
    for option in command.params:
        assert isinstance(option, click.Argument) or re.fullmatch(r"[A-Z].+\.", option.help), option


def test_the_command_line_has_the_commands_that_the_documents_name():
    """A command that vanishes breaks somebody's script."""
    named = "serve|compact|doctor|authorize|workspaces create|workspaces list|workspaces move|keys create|"
    named += "keys list|keys revoke|"
    named += "audit tail|audit query|agents list|agents show|agents create|agents update|agents suspend|agents delete|"
    named += "policies list|policies show|policies create|policies update|policies delete"
    assert set(named.split("|")) <= set(map(" ".join, COMMANDS))


def test_every_command_that_a_program_may_read_prints_json():
    """With --json, or with a format of its own: services write log lines, the schema is JSON, the rest is lines."""
    options = {words: {name for each in command.params for name in each.opts} for words, command in COMMANDS.items()}
    without = {
        words
        for words, names in options.items()
        if not isinstance(COMMANDS[words], click.Group) and not names & {"--json", "--format"}
    }
    keys = {("audit", "key", "new"), ("audit", "key", "show")}
    lines = keys | {("audit", "manifest")}
    assert without == lines | {("serve",), ("compact",), ("audit", "witness"), ("policies", "schema")}


def test_one_of_a_thing_is_called_like_many():
    """`remit key create` is `remit keys create`."""
    for one, many in SINGULAR.items():
        assert main.get_command(click.Context(main), one) is COMMANDS[(many,)]


def test_the_page_of_the_command_line_tells_the_exit_codes():
    """Scripts go by them."""
    told = CliRunner().invoke(main, ["-h"])
    assert "Exit codes: 0 = done, 1 = it failed and stderr says why, 2 = the command was" in told.output


def test_tables_are_aligned_and_only_states_are_coloured(capsys):
    """A terminal shows some characters in two places, and some in none; a name may be that of a state."""
    rows = [("日本", "denied", "denied"), ("e\u0301tat", "on", "x")]
    with click.Context(main, color=True):
        print_table(("NAME", "STATUS", "WHY"), rows, "")
        print_record([("status", "active"), ("name", "active")])
    assert capsys.readouterr().out.splitlines() == [
        "NAME  STATUS  WHY",
        "日本  \x1b[31mdenied\x1b[0m  denied",
        "e\u0301tat  on      x",
        "status  \x1b[32mactive\x1b[0m",
        "name    active",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("key", "nonsense"),
        ("serve", "--workers", "0"),
        ("serve", "--workers", "many"),
        ("agents", "update", "somebody"),
        ("agents", "create", "zero\u200bwidth"),
        ("agents", "create", "n", "--description", "d" * 2001),
        ("policies", "create", "somebody"),
        ("policies", "update", "something"),
        ("authorize", "somebody", "file.read"),
        ("authorize", "somebody", "file.read", "path", "--key", "svc_x"),
        ("authorize", "somebody", "file.read", "--key", "svc_x", "--url", "file:///etc/passwd"),
        ("key", "create", "--name", ""),
        ("key", "create", "--name", "n" * 256),
        ("key", "create", "--name", "zero\u200bwidth"),
        ("key", "create", "--name", "n", "--scope", "root"),
        ("key", "create", "--name", "n", "--expires-at", "tomorrow"),
        ("key", "revoke"),
        ("workspace", "create"),
        ("workspace", "create", ""),
        ("workspace", "create", "line\nend"),
        ("doctor", "now"),
    ],
    ids=" ".join,
)
def test_a_misused_command_ends_with_2_and_says_how_it_is_used(arguments):
    """Nothing is sent anywhere."""
    told = CliRunner().invoke(main, arguments, env={"REMIT_REDIS_URL": "redis://127.0.0.1:1"})
    assert told.exit_code == 2
    assert "Usage: " in told.output
    assert "Error: " in told.output


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("audt", "'audt'. Did you mean 'audit'?"),
        ("polcy list", "'polcy'. Did you mean 'policies'?"),
        ("policies lnt", "'lnt'. Did you mean 'lint'?"),
        ("key creat", "'creat'. Did you mean 'create'?"),
        ("keys xyzzy", "'xyzzy'. The commands are: create, list, revoke, rotate."),
    ],
)
def test_an_unknown_command_is_answered_with_the_nearest_one(arguments, error):
    """The names are compared without importing the commands. If none is near, all are listed."""
    told = CliRunner().invoke(main, arguments)
    assert told.exit_code == 2
    assert told.output.endswith(f"Error: No such command {error}\n")


def test_every_group_suggests_commands():
    groups = [command for command in COMMANDS.values() if isinstance(command, click.Group)]
    assert groups
    assert [group.name for group in groups if not isinstance(group, CommandGroup)] == []


def test_a_value_of_another_kind_is_answered_with_what_would_be_right():
    """With the span of a number, and with the command that lists the ids."""
    an_id = "an id such as 0198c2a1-7d4e-7c3b-9a55-2f6b8e1d4c07"
    share = "a number above 0 and at most 1, such as 0.1"
    hook = "webhooks create https://example.com --event decision.denied --denied-sample"
    said = {
        "policies update p --priority high": "a whole number from 0 to 1000, and not 'high'",
        "policies update p --priority 1e3": "a whole number from 0 to 1000, and not '1e3'",
        f"policies update p --priority {'9' * 6000}": f"a whole number from 0 to 1000, and not '{'9' * 40}…'",
        "policies rollback p newest": "a whole number of at least 1, and not 'newest'",
        "audit query --limit all": "a whole number from 1 to 1000, and not 'all'",
        "audit query --before 0": "a whole number from 1 to 999999999999999, and not '0'",
        f"audit query --offset {10**30}": f"a whole number from 0 to 999999999999999, and not '{10**30}'",
        "serve --workers many": "a whole number from 1 to 64, and not 'many'",
        f"{hook} 0": f"{share}, and not '0'",
        f"{hook} half": f"{share}, and not 'half'",
        f"{hook} nan": f"{share}, and not 'nan'",
        "webhooks test nope": f"{an_id}, as `remit webhooks list` prints it, and not 'nope'",
        "audit explain nope": f"{an_id}, as `remit audit query --json` prints it, and not 'nope'",
        "audit query --key ci": f"{an_id}, as `remit keys list` prints it, and not 'ci'",
    }
    for words, right in said.items():
        told = CliRunner().invoke(main, words.split(), env={"REMIT_REDIS_URL": "redis://127.0.0.1:1"})
        assert told.exit_code == 2, words
        assert told.output.endswith(f": must be {right}\n"), (words, told.output)


@pytest.mark.parametrize(
    "url",
    ["http://[::1", "http://h:99999", "http://h:abc", "http://h:0", "//h", "http:// h", "ftp://h", "127.0.0.1:8080",
     "http://u:p@h", "http://h?a=b", "http://h#a", "http://ä", "h\n", "x" * 100_000],
)  # fmt: skip
def test_a_url_that_is_none_is_answered_with_one(url):
    """No traceback, and nothing is asked."""
    sentence = f"must be a URL such as http://127.0.0.1:8080, and not {url if len(url) <= 40 else f'{url[:40]}…'!r}\n"
    for words in (
        "approvals list",
        "authorize a b",
        "explain a b",
        "policies diff p.json",
        f"decisions outcome {'0' * 32} failed",
    ):
        told = CliRunner().invoke(main, [*words.split(), "--url", url], env={"REMIT_API_KEY": "svc_x"})
        assert told.exit_code == 2, (words, told.output)
        assert told.output.endswith(f"Error: Invalid value for '--url': {sentence}"), (words, told.output)


@pytest.mark.parametrize("words", ["approvals list", "authorize a b", "explain a b"])
def test_a_key_that_no_header_can_carry_is_a_misuse(words):
    """The service is not asked."""
    for key in ("a\nb", "ä"):
        told = CliRunner().invoke(main, words.split(), env={"REMIT_API_KEY": key})
        assert told.exit_code == 2
        assert "REMIT_API_KEY is not an API key: svc_ and 32 hex digits" in told.output


def test_an_argument_that_is_no_text_is_a_misuse():
    """A command's first argument or an option's value: no command can do anything with it."""
    for words in (["agents", "show", "\udcff"], ["audit", "query", "--tool", "\udcff"], ["\udcff"]):
        told = CliRunner().invoke(main, words)
        assert (told.exit_code, "is not UTF-8" in told.output) == (2, True)


@pytest.mark.parametrize("words", ["show", "approve", "deny", "cancel"])
def test_an_approval_is_named_by_its_id(words):
    """Letters that no path can hold ended with a traceback."""
    for called in ("🤖", "../agents", "nope"):
        told = CliRunner().invoke(main, ["approvals", words, called], env={"REMIT_API_KEY": "svc_x"})
        assert told.exit_code == 2
        assert told.output.endswith(f", as `remit approvals list` prints it, and not {called!r}\n"), told.output


def test_a_long_argument_does_not_fill_the_terminal():
    """Whatever an error quotes, its beginning and its end are shown."""
    told = CliRunner().invoke(main, ["audit", "query", "--result", "x" * 100_000])
    assert told.exit_code == 2
    assert len(told.output) < 2_500
    assert told.output.endswith("'allowed', 'denied', 'escalated'.\n")


@pytest.mark.slow
def test_a_key_that_would_never_be_valid_is_not_made(remit, workspace):
    """Somebody who types a time that has passed means another one; the store's clock decides."""
    before = remit("keys", "list", "-w", workspace["id"]).stdout
    key_id = json.loads(remit("keys", "list", "-w", workspace["id"], "--json").stdout)[0]["id"]
    for words in (("create", "--name", "late"), ("rotate", key_id)):
        ran = remit("keys", *words, "-w", workspace["id"], "--expires-at", "2020-01-01T01:00:00+01:00", "--raw")
        assert (ran.returncode, ran.stdout) == (2, "")
        sentence = r"2020-01-01T00:00:00.000Z has passed, so the key would never be valid; it is 2[0-9T:.-]+Z now\n"
        assert re.search(f"Invalid value for --expires-at: {sentence}$", ran.stderr)
    assert remit("keys", "list", "-w", workspace["id"]).stdout == before


@pytest.mark.slow
def test_a_wrong_setting_ends_every_command_with_1(remit):
    """The sentence is the one that stops a start."""
    ran = remit("workspace", "list", REMIT_PROT="1")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "Error: REMIT_PROT is not a setting; did you mean REMIT_PORT?\n"


@pytest.mark.slow
def test_a_store_that_is_away_is_named_without_its_password(remit):
    """The message names the store, but not how to log in."""
    ran = remit("workspace", "list", REMIT_REDIS_URL="redis://remit:hunter2@127.0.0.1:1/0?password=hunter2")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.endswith("(the store is redis://127.0.0.1:1/0)\n")
    assert "hunter2" not in ran.stderr


@pytest.mark.slow
def test_a_new_workspace_shows_its_id_and_its_first_key_once(remit, replica, ids_of_module):
    """The key works at once, on a replica that was running before."""
    name = f"for people {ids_of_module}"
    made = remit("workspace", "create", name)
    assert (made.returncode, made.stderr) == (0, "")
    shown = re.fullmatch(rf"workspace ({UUID})\nadmin key ({RAW_KEY}) \(shown only once\)\n", made.stdout)
    assert answer_to(replica, shown[2]) == 200

    listed = remit("workspace", "list").stdout
    assert f"{shown[1]}  {name}\n" in listed
    assert not re.search(RAW_KEY, listed)
    assert {"id": shown[1], "name": name} in json.loads(remit("workspace", "list", "--json").stdout)


@pytest.mark.slow
def test_the_reason_for_a_workspace_begins_its_trail(remit):
    """With the creation of its first key."""
    made = json.loads(remit("workspace", "create", f"for a reason {uuid.uuid4()}", "--reason", "T-7", "--json").stdout)
    [change] = json.loads(remit("changes", "-w", made["id"], "--json").stdout)
    assert (change["resourceType"], change["reason"]) == ("api_key", "T-7")


@pytest.mark.slow
def test_a_name_that_is_taken_is_refused(remit, workspace):
    """Names are how the command line finds workspaces."""
    again = remit("workspace", "create", workspace["name"])
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == f'Error: There is a workspace "{workspace["name"]}" already, {workspace["id"]}\n'


@pytest.mark.slow
def test_an_unknown_workspace_is_answered_with_those_that_exist(remit, workspace):
    """So a mistyped name is easily corrected."""
    ran = remit("key", "list", "-w", "nowhere")
    assert ran.returncode == 1
    assert ran.stderr.startswith('Error: No workspace "nowhere"; there are: ')
    assert workspace["name"] in ran.stderr


@pytest.mark.slow
def test_a_key_is_made_listed_and_revoked(remit, workspace, replica):
    """`--raw` for a shell variable, lists without raw keys, 401 as soon as the command is back."""
    made = remit("key", "create", "-w", workspace["id"], "--name", "for a script", "--raw")
    assert (made.returncode, made.stderr) == (0, "")
    assert re.fullmatch(rf"{RAW_KEY}\n", made.stdout)
    raw_key = made.stdout.strip()
    assert answer_to(replica, raw_key) == 200

    listed = remit("key", "list", "-w", workspace["name"]).stdout
    [line] = [line for line in listed.splitlines() if "for a script" in line]
    key_id = re.match(UUID, line)[0]
    assert re.fullmatch(rf"{UUID}  {raw_key[:12]}…  read +2[0-9T:.-]+Z +never +for a script", line)
    assert listed.splitlines()[0].index("NAME") == line.index("for a script")
    assert raw_key not in listed

    revoked = remit("key", "revoke", "-w", workspace["id"], raw_key[:12])
    assert (revoked.returncode, revoked.stdout) == (0, f"revoked {key_id} ({raw_key[:12]}…, for a script)\n")
    assert answer_to(replica, raw_key) == 401
    again = remit("key", "revoke", "-w", workspace["id"], key_id)
    message = f'No API key has the id, beginning or name "{key_id}"; `remit keys list` shows all of them'
    assert (again.returncode, again.stderr) == (1, f"Error: {message}\n")


@pytest.mark.slow
def test_a_key_without_options_says_who_made_it(remit, workspace):
    """It may read and ask for decisions, and nothing more."""
    made = json.loads(remit("key", "create", "-w", workspace["id"], "--json").stdout)
    assert made["scopes"] == ["read"]
    assert made["name"].endswith("with remit")


@pytest.mark.slow
def test_a_name_that_two_keys_have_is_answered_with_their_ids(remit, workspace):
    """Neither is revoked by guessing."""
    twins = [json.loads(remit("key", "create", "-w", workspace["id"], "--name", "twin", "--json").stdout) for _ in "12"]
    ran = remit("keys", "revoke", "-w", workspace["id"], "twin")
    assert ran.returncode == 1
    assert ran.stderr.startswith('Error: 2 keys are called "twin" or begin so; say which by its id: ')
    assert all(twin["id"] in ran.stderr for twin in twins)


@pytest.mark.slow
def test_json_of_the_command_line_has_the_shape_of_the_api(remit, workspace, replica):
    """One vocabulary: what a script learns from one it finds in the other."""
    arguments = ("--name", "as json", "--scope", "admin", "--scope", "read", "--expires-at", "2031-01-02T03:04:05Z")
    made = json.loads(remit("key", "create", "-w", workspace["id"], *arguments, "--json").stdout)
    assert re.fullmatch(RAW_KEY, made.pop("key"))
    assert made["expiresAt"] == "2031-01-02T03:04:05.000Z"
    listed = json.loads(remit("key", "list", "-w", workspace["id"], "--json").stdout)
    made |= {"lastUsedAt": None}
    assert made in listed
    headers = {"Authorization": f"Bearer {workspace['key']}"}
    shown = httpx.get(f"{replica.base_url}/v1/api-keys", headers=headers).json()
    assert made in shown
    assert [each.keys() for each in shown] == [each.keys() for each in listed]


@pytest.mark.slow
def test_the_audit_log_is_read_from_the_command_line(remit, workspace, replica):
    """The entry that the API shows, by the same id."""
    headers = {"Authorization": f"Bearer {workspace['key']}"}
    with httpx.Client(base_url=replica.base_url, headers=headers) as client:
        agent_id = client.post("/v1/agents", json={"name": "seen from the command line"}).json()["id"]
        call = {"agent_id": agent_id, "tool_name": "orders.read"}
        decision = client.post("/v1/authorize", json=call).json()
    [entry] = json.loads(remit("audit", "query", "-w", workspace["id"], "--agent", agent_id, "--json").stdout)
    assert (entry["id"], entry["result"]) == (decision["id"], "denied")
    told = remit("audit", "query", "-w", workspace["id"], "--agent", agent_id).stdout
    assert "denied" in told
    assert "orders.read" in told


@pytest.mark.parametrize("name", ["known-by-name", "Known by name"])
def test_a_call_names_its_agent_as_every_other_command_does(remit, replica, workspace, name):
    """By name, alias or id; a key that may not list agents is told so."""
    made = remit(
        "agent", "create", name, "--alias", f"alias-{len(name.split())}", "--workspace", workspace["name"], "--json"
    )
    agent = json.loads(made.stdout)
    service = {"REMIT_URL": replica.base_url, "REMIT_API_KEY": workspace["key"]}
    for command in ("authorize", "explain"):
        for called in (name, agent["alias"], agent["id"]):
            asked = remit(command, called, "x", "--json", **service)
            assert (asked.returncode, '"result"' in asked.stdout) == (0, True), asked.stderr
        none = remit(command, "Nobody at all", "x", **service)
        assert (none.returncode, 'No agent is called "Nobody at all"' in none.stderr) == (1, True)
    made = remit("key", "create", "--scope", "authorize", "--raw", "--workspace", workspace["name"])
    asked = remit("authorize", name, "x", **service | {"REMIT_API_KEY": made.stdout.strip()})
    assert asked.returncode == 1
    assert "this key may not look up names: give the agent's id, which" in asked.stderr


def test_a_file_that_cannot_be_written_is_a_sentence_and_no_traceback(remit, replica, workspace):
    """Whether a command names it or the shell does."""
    named = remit("audit", "archive", "/proc/nowhere", "--workspace", workspace["name"])
    assert named.returncode == 1
    assert named.stderr.endswith("Error: /proc/nowhere: No such file or directory\n")
    assert "Traceback" not in named.stderr
    command = [sys.executable, "-m", "app.cli", "agent", "list", "--workspace", workspace["name"], "--json"]
    environment = clean_env() | {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"]}
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ran.returncode, ran.stderr) == (1, "Error: the output: No space left on device\n")


@pytest.mark.slow
def test_a_path_in_the_url_is_part_of_what_is_asked(remit, replica):
    """A proxy may serve Remit below one; it was left out by the commands about approvals."""
    ran = remit(
        "approvals", "list", REMIT_URL=f"{replica.base_url}/below/", REMIT_API_KEY=replica.env["REMIT_BOOTSTRAP_KEY"]
    )
    assert (ran.returncode, ran.stderr) == (1, "Error: Nothing is served at this path; /docs lists what is\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ("--help > /dev/full", 1, "Error: the output: No space left on device\n"),
        ("agents --help > /dev/full", 1, "Error: the output: No space left on device\n"),
        ("policies schema > /dev/full", 1, "Error: the output: No space left on device\n"),
        ("policies schema >&-", 0, ""),
        ("policies schema 2>&- | head -c 9", 0, ""),
    ],
)
def test_an_output_that_takes_nothing_ends_no_command_with_a_traceback(words, code, error):
    """A full disk is a failure, in help too; a closed output is not."""
    remit = shlex.join([sys.executable, "-m", "app.cli"])
    ran = subprocess.run(f"{remit} {words}", shell=True, text=True, capture_output=True, env=clean_env(), check=False)
    assert (ran.returncode, ran.stderr) == (code, error)


@pytest.mark.slow
def test_a_question_that_nobody_can_answer_names_the_option_that_answers_it(remit, workspace):
    """In a pipeline, and without a standard input at all."""
    agent_id = json.loads(remit("agents", "create", "kept", "-w", workspace["id"], "--json").stdout)["id"]
    for verb in ("delete", "revoke"):
        ran = remit("agents", verb, agent_id, "-w", workspace["id"])
        assert (ran.returncode, ran.stderr.splitlines()[-1]) == (
            1,
            "Error: There is nobody to ask; use --yes",
        )
    assert remit("agents", "show", agent_id, "-w", workspace["id"]).returncode == 0


def test_no_color_is_obeyed(monkeypatch):
    """Whatever value it has, as https://no-color.org says; an empty one means nothing."""
    for value, is_coloured in (("1", False), ("", True)):
        monkeypatch.setenv("NO_COLOR", value)
        assert main.make_context("remit", ["serve"]).color is (None if is_coloured else False)


@pytest.mark.slow
def test_only_the_service_needs_the_libraries_of_an_identity_provider(tmp_path):
    """A command on the store works without them; `serve` refuses to start, and says what installs them."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['jwt'] = None\n")
    provider = {"REMIT_OIDC_ISSUER": "https://id.example", "REMIT_OIDC_CLIENT_ID": "remit"}
    provider |= {"REMIT_OIDC_SCOPES": "admins=admin", "REMIT_PUBLIC_URL": "https://remit.example"}
    env = clean_env() | provider | {"REMIT_DATA_DIR": str(tmp_path / "data")}
    env["PYTHONPATH"] = f"{tmp_path}:{env.get('PYTHONPATH', '')}"

    def run(*words):
        command = [sys.executable, "-m", "app.cli", *words]
        return subprocess.run(command, env=env, capture_output=True, text=True)

    assert run("serve").stderr.startswith(
        "Error: REMIT_OIDC_ISSUER needs the extra `oidc`: pip install -e '.[oidc]' in a checkout"
    )
    made = run("workspace", "create", "w", "--json")
    assert made.returncode == 0, made.stderr
    assert run("agents", "list", "--workspace", "w").returncode == 0
