"""The proxy passes on no message that a server could read as a call other than the one judged."""

import json

import pytest

from remit_client.mcp.messages import Unreadable, one_line, read, write

HEAD = '"jsonrpc":"2.0","id":1'
CALL = {"name": "t", "arguments": {"amount": 1}}


@pytest.mark.parametrize(
    "text",
    [
        f'{{{HEAD},"Method":"tools/call","params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"method":"ping","Method":"tools/call","params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"METHOD":"tools/call","method":"ping"}}',
        f'{{{HEAD},"method":["tools/call"],"params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"method":null,"params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"method":{{"a":"tools/call"}}}}',
        f'{{{HEAD},"method":"Tools/Call","params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"method":"tools/call ","params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"method":"tool\\u017f/call","params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"method":"tools/call\\u0000","params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"method":"tools/call\\u0000/list","params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"method":"\\ufefftools/call","params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"method":"tools/\\u200bcall","params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"method\\u0000":"tools/call","result":1}}',
        f'{{{HEAD},"result":{{}},"Method":"tools/call"}}',
        f'{{{HEAD},"method":"tools/call","Params":{json.dumps(CALL)}}}',
        f'{{{HEAD},"method":"tools/call","params":{{"name":"t","Name":"u"}}}}',
        f'{{{HEAD},"method":"tools/call","params":{{"Name":"u"}}}}',
        f'{{{HEAD},"method":"tools/call","params":{{"name":"t","argument\\u017f":{{"amount":9000}}}}}}',
        f'{{{HEAD},"method":"tools/call","params":{{"name":"t","arguments":{{"amount":1,"Amount":9000}}}}}}',
        f'{{{HEAD},"method":"tools/call","params":{{"name":"t","arguments":{{"x":[{{"k":1,"\\u212a":2}}]}}}}}}',
        '{"jsonrpc":"2.0","id":1,"ID":2,"method":"tools/call","params":{"name":"t"}}',
    ],
)
def test_a_message_that_two_servers_read_differently_is_refused(text):
    with pytest.raises(Unreadable):
        read(text.encode())


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**CALL, "_meta": {"progressToken": 1}}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "arguments": {"Amount": 1}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": {"Name": "x"}, "unknown": True},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}},
        {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "p", "arguments": {"X": "y"}}},
    ],
)
def test_every_other_message_is_read(message):
    """Names in arguments are the tool's own; a name in another spelling is judged by the rules that read it."""
    assert read(json.dumps(message).encode()) == message


@pytest.mark.parametrize("end", ["\r", "\u0085", "\u2028", "\u2029"])
def test_a_message_stays_one_line(end):
    """Also for a server that ends lines where Python's splitlines does: nobody has judged what it would find there."""
    text = "" if end == "\r" else f"{end}{{jsonrpc: '2.0', id: 1, method: 'tools/call'}}{end}"
    space = end if end == "\r" else " "
    raw = f'{{"method": "x",{space}"params": {{"text": "{text}"}}}}'
    message = read(raw.encode())
    assert len(raw.splitlines()) > 1
    for line in (one_line(raw.encode(), message), write(message)):
        assert len(line.decode().splitlines()) == 1
        assert json.loads(line) == message
    plain = '{"method": "x", "params": {"text": "é… 😀"}}'.encode()
    assert one_line(plain, read(plain)) == plain + b"\n"


def test_half_a_surrogate_pair_is_written_as_an_escape():
    """Its bytes would not be UTF-8, which ends many a server."""
    assert write({"a": "\ud800é"}) == b'{"a":"\\ud800' + "é".encode() + b'"}\n'
