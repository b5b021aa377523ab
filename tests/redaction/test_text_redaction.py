"""Secrets that no parameter name reveals: pairs, JSON in strings, settings, options, headers, known credentials."""

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pdp_and_mirror import REDACTOR, agent, policy_of, request

from app.model.decisions import Result
from app.pdp import compile_agent, decide
from app.redaction.credentials import holds_credentials, without_credentials
from app.redaction.recording import recorded
from app.redaction.redactor import Redactor
from app.redaction.signer import UNSIGNED

GONE = "[REDACTED]"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEhunter2\nhunter2==\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJodW50ZXIyIn0.hunter2hunter2"
# Put together here, so that no scanner takes this file for a leak.
CREDENTIALS = {
    "OpenAI": "sk-" + "proj-hunter2hunter2hunter2",
    "Anthropic": "sk-" + "ant-api03-hunter2hunter2-_hunter2",
    "Stripe": "sk_" + "live_hunter2hunter2hunter2",
    "GitHub": "ghp_" + "hunter2" * 5 + "x",
    "GitHub, fine-grained": "github_" + "pat_11hunter2hunter2_hunter2hunter2",
    "GitLab": "glpat-" + "hunter2hunter2-hunter2",
    "Slack": "xoxb-" + "123456789012-hunter2hunter2",
    "AWS": "AKIA" + "HUNTER2HUNTER2XX",
    "Google": "AIza" + "hunter2" * 5,
    "npm": "npm_" + "hunter2" * 5 + "x",
    "Hugging Face": "hf_" + "hunter2" * 5,
    "SendGrid": "SG." + "hunter2hunter2hunter2.hunter2hunter2hunter2",
    "a JWT": JWT,
    "an unsigned JWT": JWT.rpartition(".")[0] + ".",
    "an encrypted JWT": "eyJhbGciOiJkaXIifQ..hunter2hunter2.hunter2hunter2.hunter2",
    "PEM": PEM,
    "PEM in one line": PEM.replace("\n", " "),
    "PEM that is cut": PEM.partition("-----END")[0],
    "bearer": "Bearer " + "hunter2hunter2hunter2",
    "a header": "authorization: Token " + "hunter2hunter2hunter2",
    "a URL": "postgres://ann:hunter2@db.corp.com/shop",
    "a URL's password with an at sign": "https://ann:a@hunter2@db.corp.com/shop",
    "a database's password with a slash": "mysql+pymysql://ann:a/hunter2@db.corp.com/shop",
    "a URL's token": "https://" + "hunter2hunter2hunter2@corp.com/x.git",
    "a DSN": "ann:hunter2@tcp(db:3306)/shop",
    "Oracle": "jdbc:oracle:thin:ann/hunter2@//db:1521/x",
    "a signed URL": "https://corp.com/a?sv=1&sig=hunter2hunter2%3D&se=1",
    "basic": "Basic " + "aHVudGVyMjpodW50ZXIyhunter2",
    "Slack's webhook": "https://hooks.slack.com/services/" + "T0/B0/hunter2hunter2hunter2",
    "Google, refresh": "1//0" + "hunter2" * 5,
    "Azure": "a8Z8Q~" + "hunter2" * 5,
    "Atlassian": "ATATT3x" + "hunter2" * 4,
    "Groq": "gsk_" + "hunter2" * 5,
    "Docker": "dckr_pat_" + "hunter2" * 4,
    "Grafana": "glsa_" + "hunter2" * 5,
    "New Relic": "NRAK-" + "HUNTER2" * 4,
    "Doppler": "dp.pt." + "hunter2" * 4,
}


def kept(value, redactor=REDACTOR):
    return msgspec.json.decode(recorded(value, redactor, UNSIGNED, "w"))


@pytest.mark.parametrize("credential", CREDENTIALS.values(), ids=CREDENTIALS)
def test_a_string_that_looks_like_a_known_credential_is_replaced(credential):
    """Wherever it occurs in a string, even in nested JSON or as a name; its surroundings are kept."""
    for around in ("%s", "see %s.", "a\n%s\nb", '{"k": "%s"}', "tab\t%s", "\u0001%s", "x=%s"):
        plain = around.replace("%s", credential)
        for text in (plain, json.dumps({"deep": json.dumps([plain])})):
            made = recorded({"note": [text], text: 1, "n": 7}, Redactor([]), UNSIGNED, "w").decode()
            assert "unter2" not in made
            assert "UNTER2" not in made
            assert GONE in made
            assert msgspec.json.decode(made)["n"] == 7


PLAIN = [
    "docker run -p 80:80 -u 1000:1000 app && docker run --user app:app app",
    "sudo -u root ls -la; git push -u origin main; ssh -p 22 ann@corp.com",
    "curl -XPUT -fsSL https://corp.com/a@b -o out.bin",
    "mysql --port 3306 -u root -p shop",
    "npm ci --cache x; npm test -- -p 3; ps -p 1 | grep -P 'a'",
    "https://registry.corp.com:5000/@scope/pkg",
    "he said 'no' -- and left the house",
    "Basic Authentication is off, basic understanding is not",
    "tests pass: 5, pass=12, pass=true",
    "openssl version -a; redis-cli ping; zip -r a.zip b",
    "the risk-assessment-of-the-whole and a task-management-system",
    "a Bearer of bad news",
    "018bcfe5-6800-7000-8000-00000000cafe",
    "https://corp.com/a?b=c#d",
    "git@github.com:corp/repo.git",
    "d41d8cd98f00b204e9800998ecf8427e",
    "BEGIN -----",
    "eyJust.a.text",
    "max_tokens=5 --tokenizer bpe",
    "author: Ann\nshipping: free",
    '{"name": "amount", "value": 5}',
    "AKIA is how keys of AWS begin",
    "if token == other:",
    "notes: |\n  the password\n  is secret\nauthor: Ann",
    "echo hello | grep -c token; ls['a'] = 1; setTimeout('x')",
    "name: string = 'x'; const tokens_used: number = 5",
    "<input name='amount' value='5'> '''quoted''' and ''quoted''",
    "amount = 5\nauthor = Ann",
    "<p>the password</p>",
    '{"type": "text", "text": "hello"}',
    '{"selector": "#amount", "text": "5"}',
]


@pytest.mark.parametrize("text", PLAIN)
def test_other_strings_are_kept_as_they_are(text):
    """A log that hides too much is useless."""
    assert kept({"a": text, "b": [text, 1, text]}) == {"a": text, "b": [text, 1, text]}


PAIRS = [
    {"name": "Authorization", "value": "hunter2"},
    {"value": "hunter2", "name": "Authorization"},
    {"Name": "DB_PASSWORD", "Value": {"deep": ["hunter2"]}, "n": 1},
    {"key": "api-key", "value": ["hunter2"]},
    {"headerName": "Cookie", "headerValue": "hunter2"},
    {"field": "pin", "values": [1234, "hunter2"]},
    {"k": "token", "v": "hunter2"},
    {"variable": "PGPASSWORD", "default": "hunter2"},
    {"header": "X-Api-Key", "content": "hunter2"},
    {"label": "Password", "text": "hunter2"},
    {"element": "Password textbox", "ref": "e5", "text": "hunter2"},
    {"selector": "#password", "text": "hunter2"},
    {"selector": 'input[name="password"]', "value": "hunter2"},
    {"type": "password", "value": "hunter2"},
    {"Name": "/prod/db/password", "Value": "hunter2"},
    {"Type": "SecureString", "Value": "hunter2"},
    {"id": "password", "input": "hunter2"},
    ["Authorization", "Bearer hunter2"],
    [["Accept", "*/*"], ["Set-Cookie", "hunter2"]],
    ["mysql", "--password", "hunter2", "--host", "db"],
    ["login", "-pwd", "hunter2"],
]


@pytest.mark.parametrize("pair", PAIRS, ids=json.dumps)
@pytest.mark.parametrize("place", [lambda pair: pair, lambda pair: [pair, 1], json.dumps, lambda p: json.dumps([[p]])])
def test_a_value_whose_name_stands_beside_it_is_replaced(pair, place):
    """In an object with name and value, in a list of the two, and among a command's words."""
    made = recorded({"headers": place(pair)}, REDACTOR, UNSIGNED, "w")
    assert b"hunter2" not in made
    assert b"1234" not in made
    assert GONE.encode() in made


def test_in_a_pair_only_the_value_is_replaced():
    """The name stays."""
    assert kept({"h": [{"name": "Authorization", "value": "x", "n": 1}, {"name": "Accept", "value": "x"}]}) == {
        "h": [{"name": "Authorization", "value": GONE, "n": 1}, {"name": "Accept", "value": "x"}]
    }
    assert kept({"argv": ["a", "--token", "x", "--host", "h"]}) == {"argv": ["a", "--token", GONE, "--host", "h"]}


NAMED = {
    '{"user": "ann", "password": "hunter2", "n": [1]}': '{"user":"ann","password":"[REDACTED]","n":[1]}',
    '  [{"a": {"apiKey": {"b": "hunter2"}}}]': '[{"a":{"apiKey":"[REDACTED]"}}]',
    'sent {"password": "hunter2", "n": 1} to ann': 'sent {"password": [REDACTED], "n": 1} to ann',
    "{'password': 'hunter2', 'n': 1}": "{'password': [REDACTED], 'n': 1}",
    '{"password": "hunter2': '{"password": [REDACTED]',
    '{"n": 1}\n{"token": "hunter2"}': '{"n": 1}\n{"token": [REDACTED]}',
    "PGPASSWORD=hunter2 psql -h db": "PGPASSWORD=[REDACTED] psql -h db",
    "curl 'https://corp.com/?a=1&token=hunter2&b=2'": "curl 'https://corp.com/?a=1&token=[REDACTED]&b=2'",
    'mysql --password="hunter2 hunter2" -u ann': "mysql --password=[REDACTED] -u ann",
    "mysql --password hunter2 -u ann": "mysql --password [REDACTED] -u ann",
    'curl -H "X-Api-Key: hunter2" corp.com': 'curl -H "X-Api-Key: [REDACTED]" corp.com',
    "GET / HTTP/1.1\nCookie: sid=hunter2; b=c\nAccept: */*": "GET / HTTP/1.1\nCookie: [REDACTED]\nAccept: */*",
    "user: ann\n  password: hunter2\n": "user: ann\n  password: [REDACTED]\n",
    "[db]\npassword = hunter2 hunter2\nhost = a": "[db]\npassword = [REDACTED]\nhost = a",
    "const token = 'hunter2';": "const token = [REDACTED];",
    'apiKey := "hunter2"\nn := 1': "apiKey := [REDACTED]\nn := 1",
    ":password => 'hunter2',": ":password => [REDACTED],",
    "<user>ann</user><password>hunter2</password>": "<user>ann</user><password>[REDACTED]</password>",
    '<db:apiKey a="1">\n hunter2\n</db:apiKey>': '<db:apiKey a="1">[REDACTED]</db:apiKey>',
    "password: |\n  hunter2\n\n  hunter2\nhost: a": "password: [REDACTED]\n[REDACTED]\nhost: a",
    "db:\n  - token: >-\n      hunter2\n    host: a": "db:\n  - token: [REDACTED]\n[REDACTED]\n    host: a",
    "password = '''hunter2 it's\nhunter2'''\nn = 1": "password = [REDACTED]\nn = 1",
    'token = """\nhunter2 "hunter2"\n"""\nn = 1': "token = [REDACTED]\nn = 1",
    "password : hunter2\nhost : a": "password : [REDACTED]\nhost : a",
    '<add key="apiKey" value="hunter2"/>': '<add key="apiKey" value=[REDACTED]/>',
    "<input name='pin' type='text' value='hunter2'>": "<input name='pin' type='text' value=[REDACTED]>",
    "<password><![CDATA[hunter2<hunter2]]></password>": "<password>[REDACTED]</password>",
    'Content-Disposition: form-data; name="token"\r\n\r\nhunter2\r\n--x': (
        'Content-Disposition: form-data; name="token"\r\n\r\n[REDACTED]\n--x'
    ),
    "os.environ['PASSWORD'] = 'hunter2'; n = 1": "os.environ['PASSWORD'] = [REDACTED]; n = 1",
    'const password: string = "hunter2";': "const password: [REDACTED] = [REDACTED];",
    'db.setPassword("hunter2").open()': "db.setPassword([REDACTED]).open()",
    "пароль: да\npassword: hunter2": "пароль: да\npassword: [REDACTED]",
}


@pytest.mark.parametrize(("text", "wanted"), NAMED.items())
def test_a_value_named_as_a_secret_in_a_string_is_replaced(text, wanted):
    """JSON stays JSON; elsewhere only the value is replaced."""
    assert kept({"command": text}) == {"command": wanted}


COMMANDS = {
    "curl -sSu ann:hunter2 https://corp.com -o x": "curl -sSu [REDACTED] https://corp.com -o x",
    "curl corp.com -uann:hunter2": "curl corp.com -u[REDACTED]",
    "curl --user 'ann:hunter2 hunter2' corp.com": "curl --user [REDACTED] corp.com",
    "curl -b sid=hunter2 corp.com": "curl -b [REDACTED] corp.com",
    "curl -H Authorization:hunter2 corp.com": "curl -H Authorization:[REDACTED]",
    "cd /x && sudo mysql -u root -phunter2 shop": "cd /x && sudo mysql -u root -p[REDACTED] shop",
    "mysqldump -p'hunter2' shop; ls -p": "mysqldump -p[REDACTED] shop; ls -p",
    "sshpass -p hunter2 ssh -p 22 ann@h": "sshpass -p [REDACTED] ssh -p [REDACTED] ann@h",
    "docker login -u ann -p hunter2 reg && docker run -p 80:80 x": (
        "docker login -u ann -p [REDACTED] reg && docker run -p 80:80 x"
    ),
    "redis-cli -h h -a hunter2 ping": "redis-cli -h h -a [REDACTED] ping",
    "openssl rsa -passin pass:hunter2 -in a": "openssl rsa -passin [REDACTED] -in a",
    "7z x -phunter2 a.7z | cat": "7z x -p[REDACTED] a.7z | cat",
    "terraform apply -token hunter2": "terraform apply -token [REDACTED]",
    "net use x: /password:hunter2 /y": "net use x: /password:[REDACTED] /y",
    "config set requirepass hunter2": "config set requirepass [REDACTED]",
    "aws configure set aws_secret_access_key hunter2": "aws configure set aws_secret_access_key [REDACTED]",
    "helm install --set db.password=hunter2 x": "helm install --set db.password=[REDACTED] x",
    '$env:PGPASSWORD = "hunter2"; psql': "$env:PGPASSWORD = [REDACTED]; psql",
    "ALTER USER ann WITH PASSWORD 'hunter2'": "ALTER USER ann WITH PASSWORD [REDACTED]",
    "create user a identified with x by 'hunter2'": "create user a identified with x by [REDACTED]",
    "set password for 'a'@'%' = 'hunter2'": "set password for 'a'@'%' = [REDACTED]",
    "connect(user='ann', password = 'hunter2')": "connect(user='ann', password = [REDACTED])",
    "get(url, auth=('ann', 'hunter2'))": "get(url, auth=[REDACTED])",
    "fetch(u, {headers: {Authorization: 'hunter2'}})": "fetch(u, {headers: {Authorization: [REDACTED]",
    "curl https://corp.com \\\n  -u ann:hunter2 \\\n  -o x": "curl https://corp.com \\\n  -u [REDACTED] \\\n  -o x",
    "curl \\\n-u \\\n  ann:hunter2": "curl \\\n-u \\\n  [REDACTED]",
    "curl\t-u\tann:hunter2 corp.com": "curl\t-u\t[REDACTED] corp.com",
    "redis-cli ^\n  -a hunter2": "redis-cli ^\n  -a [REDACTED]",
    "kubectl create secret generic a --from-literal=x=hunter2": (
        "kubectl create secret generic a --from-literal=x=[REDACTED]"
    ),
    "echo 'hunter2' | docker login -u a --password-stdin": "echo [REDACTED] | docker login -u a --password-stdin",
    "machine h login ann password hunter2": "machine h login ann password [REDACTED]",
    "- name: DB_PASSWORD\n  value: hunter2\n  n: 1": "- name: DB_PASSWORD\n  value: [REDACTED]\n  n: 1",
    "call ann, password:hunter2 and token: hunter2 !": "call ann, password:[REDACTED] and token: [REDACTED] !",
    "POST / HTTP/1.1\r\nauthorization=Bearer hunter2\r\n": "POST / HTTP/1.1\r\nauthorization=[REDACTED]\r\n",
    "> Cookie: sid=hunter2; a=hunter2\n> Accept: a": "> Cookie: [REDACTED]\n> Accept: a",
    'Proxy-Authorization: Digest username="a", response="hunter2"': "Proxy-Authorization: [REDACTED]",
    "login?user=ann&pass=hunter2": "login?user=ann&pass=[REDACTED]",
    "Server=h;Uid=ann;Pwd=hunter2;Encrypt=yes": "Server=h;Uid=ann;Pwd=[REDACTED];Encrypt=yes",
    "AccountName=x;AccountKey=hunter2==;End=y": "AccountName=x;AccountKey=[REDACTED];End=y",
}


@pytest.mark.parametrize(("text", "wanted"), COMMANDS.items())
@pytest.mark.parametrize("place", [lambda text: text, lambda text: {"argv": ["bash", "-c", text]}, lambda t: [[t, 1]]])
def test_credentials_in_command_lines_are_replaced(text, wanted, place):
    """Even after options without a telling name, and in what a command writes, reads or configures."""
    assert kept({"command": place(text)}) == {"command": place(wanted)}


WORDS = [
    (["/usr/bin/curl", "-u", "ann:hunter2", "x"], ["/usr/bin/curl", "-u", GONE, "x"]),
    (["sudo", "mysql", "-phunter2", "shop"], ["sudo", "mysql", "-p" + GONE, "shop"]),
    (["ionice", "-c3", "--run=/usr/bin/mysql", "-phunter2"], ["ionice", "-c3", "--run=/usr/bin/mysql", "-p" + GONE]),
    (["docker", "-D", "login", "-p", "hunter2"], ["docker", "-D", "login", "-p", GONE]),
    (["docker", "run", "-p", "80:80"], ["docker", "run", "-p", "80:80"]),
    (["x", "-password", "hunter2"], ["x", "-password", GONE]),
    (["x", "--password=hunter2"], ["x", "--password=" + GONE]),
    (["Accept", "*/*", "Authorization", "Bearer hunter2"], ["Accept", "*/*", "Authorization", GONE]),
    (["authorization", "hunter2", True], ["authorization", GONE, True]),
]


@pytest.mark.parametrize(("words", "wanted"), WORDS, ids=str)
@pytest.mark.parametrize("place", [lambda words: words, lambda words: [{"n": [words, 1]}]])
def test_in_a_list_the_value_after_an_option_or_a_header_is_replaced(words, wanted, place):
    """In a command's words, and in headers as libraries list them."""
    assert kept({"a": place(words)}) == {"a": place(wanted)}


@pytest.mark.parametrize("place", [lambda key: key, lambda key: {"keys": [key]}, json.dumps])
def test_the_private_half_of_a_json_web_key_is_replaced(place):
    """Its public half stays, and identifies the key."""
    key = {"kty": "RSA", "n": "abc", "e": "AQAB", "d": "hunter2", "p": "hunter2", "oth": ["hunter2"]}
    made = recorded({"key": place(key)}, REDACTOR, UNSIGNED, "w")
    assert b"hunter2" not in made
    assert b"AQAB" in made
    assert kept({"k": "a", "d": "b", "p": 1}) == {"k": "a", "d": "b", "p": 1}


def test_pass_is_a_password_unless_its_value_is_a_count():
    """`true` or a small number only means that something passed. In every form in which a name has a value."""
    for secret in ("hunter2", 123456):
        assert kept({"pass": secret}) == {"pass": GONE}
        assert kept({"pass": [secret], "name": "a"}) == {"pass": GONE, "name": "a"}
        assert kept({"a": ["pass", secret]}) == {"a": ["pass", GONE]}
        assert kept({"name": "pass", "value": secret}) == {"name": "pass", "value": GONE}
        assert kept({"a": ["x", "--pass", str(secret)]}) == {"a": ["x", "--pass", GONE]}
        for form in (
            "pass=%s",
            "x --pass %s -v",
            "pass: %s",
            "<pass>%s</pass>",
            "{'pass': %s}",
            "{pass: %s}",
            "?pass=%s&a=b",
        ):
            assert str(secret) not in str(kept({"a": form % secret})), form
    for value in (True, 12, None, "yes", "", [1, 2]):
        assert kept({"pass": value}) == {"pass": value}
        assert kept({"a": ["pass", value]}) == {"a": ["pass", value]}
    assert kept({"name": "pass", "value": 12}) == {"name": "pass", "value": 12}
    assert kept({"b": "pass: 3"}) == {"b": "pass: 3"}


@pytest.mark.parametrize("name", ["2fa_code", "mfa", "otp", "unlock_code", "sessionid", "pem", "kms_key"])
def test_a_name_that_is_secret_is_so_in_every_form(name):
    """Also one that begins with a digit."""
    assert kept({name: "hunter2"}) == {name: GONE}
    pairs = {"a": [name, "hunter2"], "b": ["--" + name, "hunter2"], "name": name, "value": "hunter2"}
    assert "hunter2" not in str(kept(pairs))
    forms = ["%s=hunter2", "%s: hunter2", "x --%s hunter2", "x --%s=hunter2", '{"%s": "hunter2', "<%s>hunter2</x>"]
    for form in (*forms, "a?%s=hunter2&b=c", "export %s=hunter2", "(%s: hunter2)", "%s := hunter2", "set %s 'hunter2'"):
        assert "hunter2" not in str(kept({"a": form % name})), form


LONG = [
    {"password": "hunter2"},
    {"credentials": {"user": "ann", "other": ["hunter2", "hunter2"]}},
    [{"a": json.dumps({"credentials": {"n": "hunter2"}})}],
]


@pytest.mark.parametrize("value", LONG, ids=json.dumps)
def test_shortened_json_holds_no_secret(value):
    """Shortened JSON is not valid, but still names its values."""
    made = recorded({"a": json.dumps([value, "x" * 5_000])}, REDACTOR, UNSIGNED, "w")
    assert b"hunter2" not in made
    assert b'"length":' in made


@pytest.mark.parametrize("times", [1, 2, 3])
def test_nested_json_is_searched_for_secrets(times):
    """However often it is quoted, and even with letters as escapes."""
    text = '{"\\u0070assword": "hunter2", "n": 1}'
    for _ in range(times):
        text = json.dumps({"inner": text})
    assert b"hunter2" not in recorded({"a": text}, REDACTOR, UNSIGNED, "w")


def test_json_too_deep_to_search_is_not_kept():
    """A thousand levels are useless to a reader."""
    made = recorded({"a": "[" * 1_000 + '{"password": "hunter2"}' + "]" * 1_000}, REDACTOR, UNSIGNED, "w")
    assert b"hunter2" not in made


def test_a_long_string_is_searched_before_it_is_shortened():
    """So no half of a secret is left at the end."""
    for before in range(225, 260):
        for secret in (CREDENTIALS["GitHub"], "password=hunter2hunter2hunter2", PEM):
            text = "x" * before + " " + secret + " y" * 3_000
            assert b"unter2" not in recorded({"a": text}, REDACTOR, UNSIGNED, "w")


def test_policies_see_the_real_strings():
    """Redaction works on a copy."""
    value = {"a": [{"name": "token", "value": "x"}, "password=hunter2"], "b": ["--pin", "1"]}
    before = json.dumps(value)
    recorded(value, REDACTOR, UNSIGNED, "w")
    assert json.dumps(value) == before


@pytest.mark.parametrize(
    "given_value", [*CREDENTIALS.values(), "PGPASSWORD=hunter2 psql", '{"password":"hunter2"}', "Cookie: hunter2"]
)
def test_no_reason_shows_a_redacted_value(given_value):
    """Because reasons are stored and shown, too."""
    rules = [{"type": "parameter_constraint", "tools": ["*"], "parameters": {"command": {"regex": "^ls$"}}}]
    body = {"id": "p", "name": "p", "rules": rules, "priority": 0, "enabled": True, "createdAt": 0}
    compiled = compile_agent(agent(), [policy_of(body)], REDACTOR.is_secret)

    outcome = decide(compiled, request("t", {"command": given_value}), 0).outcome

    assert outcome.result is Result.DENIED
    assert "unter2" not in outcome.reason
    assert "UNTER2" not in outcome.reason


@pytest.mark.parametrize("name", ["aB" * 30_000, "a_pinPIN" * 7_500, "x" * 513])
def test_an_overlong_name_is_taken_for_a_secret(name):
    """Searching it would take longer than the rest of the call."""
    assert REDACTOR.is_secret(name)
    assert kept({name: "hunter2"}) == {name: GONE}


_WORDS = st.lists(
    st.sampled_from(["password", "token=", "hunter2", '"', "'", "\\", ": ", "{", "}", "[", "\n", "--", "é"])
)


@example("token=é", 1)
@given(_WORDS.map("".join), st.integers(0, 2))
def test_redaction_keeps_json_valid_and_its_shape(text, quoted):
    """And redacting twice changes nothing."""
    for _ in range(quoted):
        text = json.dumps(text)
    made = kept({"a": text, "n": [text, 1]})
    assert made.keys() == {"a", "n"}
    assert type(made["a"]) is str
    assert kept(made) == made


@given(st.text(st.sampled_from('sk-ghp_AKIAeyJ.:/@\\"\n-BEGINEDbearer 0aZ='), max_size=80))
def test_json_without_credentials_is_json(text):
    """Whatever is next to them."""
    raw = json.dumps({"a": text})
    assert set(json.loads(without_credentials(raw))) == {"a"}
    assert holds_credentials(raw.encode()) == (without_credentials(raw) != raw)
