"""remit-mcp passes on no message that a server could read as a call other than the one judged."""

import json

import pytest

from remit_client.mcp.messages import Unreadable, read

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
