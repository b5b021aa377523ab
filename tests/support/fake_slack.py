"""Slack, as its documentation describes it: it answers `users.info`, takes answers, and signs what people press."""

import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode

SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TOKEN = "xoxb-of-the-tests"
TEAM = "T0TEAM"


def member(user, address, **others):
    """A person of the Slack workspace, as `users.info` describes them."""
    known = {"id": user, "team_id": TEAM, "name": user.lower(), "deleted": False, "is_bot": False}
    return known | {"is_email_confirmed": True, "profile": {"real_name": user, "email": address}} | others


class FakeSlack:
    """Listens on a port of its own. users: by id. told: what was shown to whoever pressed, in order.

    before: called with the path of each request, before it is answered.
    """

    def __init__(self):
        self.users, self.told = {}, []
        self.before = lambda _path: None
        self.came = threading.Condition()
        slack = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                slack.before(self.path)
                answer = slack.answered(self.path, self.headers, body)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def settings(self):
        """What a replica needs to be this Slack's app."""
        return {
            "REMIT_SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "REMIT_SLACK_BOT_TOKEN": TOKEN,
            "REMIT_SLACK_API": f"{self.url}/api",
        }

    def answered(self, path, headers, body):
        if path == "/api/users.info":
            if headers["authorization"] != f"Bearer {TOKEN}":
                return b'{"ok": false, "error": "invalid_auth"}'
            user = self.users.get(parse_qs(body.decode())["user"][0])
            found = {"ok": True, "user": user} if user else {"ok": False, "error": "user_not_found"}
            return json.dumps(found).encode()
        with self.came:
            self.told.append(json.loads(body))
            self.came.notify_all()
        return b"ok"

    def press(self, client, user, button, **others):
        """Tell the service that somebody pressed a button; the answer to Slack."""
        action = {"type": "button", "action_id": button["action_id"], "block_id": "b", "value": button.get("value")}
        payload = {"type": "block_actions", "team": {"id": TEAM, "domain": "t"}, "enterprise": None, "api_app_id": "A"}
        payload |= {"user": {"id": user, "username": "u", "team_id": TEAM}, "actions": [action]}
        payload |= {"response_url": f"{self.url}/respond", "trigger_id": "1.2.3", "container": {}, "channel": {}}
        return self.send(client, {"payload": json.dumps(payload | others)})

    def send(self, client, form, secret=SIGNING_SECRET, age_s=0, **headers):
        """Send a form to the service, signed so many seconds ago."""
        body, timestamp = urlencode(form).encode(), str(int(time.time()) - age_s)
        signed = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        given = {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={signed}"}
        given |= {"Content-Type": "application/x-www-form-urlencoded"} | headers
        return client.post("/v1/slack", content=body, headers=given)

    def shown(self, count):
        """The message number `count` that was shown to somebody, once it has come."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.told) >= count, 30), self.told
        return self.told[count - 1]


def buttons(message):
    """The buttons of a message, by how their action begins."""
    rows = [each["elements"] for each in message["blocks"] if each["type"] == "actions"]
    return {each["action_id"].removeprefix("remit_").split("_")[0]: each for row in rows for each in row}


def text_of(message):
    """All text of a message, in order."""
    if isinstance(message, list):
        return "".join(map(text_of, message))
    if not isinstance(message, dict):
        return ""
    inner = (message[name] for name in ("blocks", "elements", "text") if isinstance(message.get(name), dict | list))
    return (message["text"] if isinstance(message.get("text"), str) else "") + "".join(map(text_of, inner))
