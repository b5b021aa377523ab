"""A receiver of webhooks on loopback: it keeps what it gets, and gives prepared answers."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook


class Receiver:
    """Listens on a port of its own. answers: statuses for the next requests (None = no answer), then 204 for all.

    location: where a redirect leads. retry_after: the header of every 429 and 503. got: headers, with the path, and
    body of each.
    """

    def __init__(self) -> None:
        self.answers: list[int | None] = []
        self.location = "http://169.254.169.254/latest/meta-data/"
        self.retry_after: str | None = None
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.came = threading.Condition()
        self._ended = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                with receiver.came:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    receiver.got.append((headers | {":path": self.path}, body))
                    status = receiver.answers.pop(0) if receiver.answers else 204
                    ended = receiver._ended
                    receiver.came.notify_all()
                if status is None:
                    ended.wait(60)
                    return
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", receiver.location)
                if status in {429, 503} and receiver.retry_after is not None:
                    self.send_header("Retry-After", receiver.retry_after)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self):
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self, count):
        """Wait until this many requests have come."""
        self.wait_until(lambda: len(self.got) >= count)

    def wait_until(self, holds):
        """Wait until the claim holds for what has come."""
        with self.came:
            assert self.came.wait_for(holds, 30), self.got

    def release(self):
        """Drop the requests that have no answer."""
        self._ended.set()
        self._ended = threading.Event()

    def events(self, secret):
        """The id and event of each request, as verified by the library."""
        return [(headers["webhook-id"], Webhook(secret).verify(body, headers)) for headers, body in list(self.got)]


def subscribe(tenant, url, **fields):
    """Create a webhook for every event, unless `fields` say otherwise; return the answer."""
    every = ["approval.requested", "approval.decided", "approval.expired", "agent.suspended", "policy.changed"]
    body = {"url": url, "events": [*every, "decision.denied", "audit.verification_failed"], **fields}
    answer = tenant.admin.post("/v1/webhooks", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()
