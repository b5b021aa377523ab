"""What gateways are tried with: hostile requests, sent byte by byte, and a backend that keeps what reaches it."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOSTILE = [
    "/shop/../admin",
    "/shop/%2e%2e/admin",
    "/shop/.%2E/admin",
    "/shop/%252e%252e/admin",
    "/shop/..%2fadmin",
    "/shop%2f..%2fadmin",
    "/shop/..;/admin",
    "/shop/..%3b/admin",
    "/shop;/../admin",
    "/shop/x;y=1",
    "/shop/..\\admin",
    "/shop%5c..%5cadmin",
    "/shop//../admin",
    "//shop/x",
    "/shop//x",
    "/./shop",
    "/shop/.",
    "/shop/%",
    "/shop/%zz",
    "/shop/%c0%ae%c0%ae/admin",
    "/shop/%ff",
    "/shop/%00",
    "/shop/x%0d%0aHost:%20evil",
    "/shop/x%0a",
    "/shop/%E2%80%AEx",
    "/shop/%EF%BC%8E%EF%BC%8E/admin",
    "/shop/%E2%88%95admin",
    "/shop/%20",
    "/shop/...",
    "/shop/x?a=1;b=2",
    "/shop/x?a=%zz",
    "/shop/x?a=%00",
    "/SHOP/x",
    "/Shop",
    "/%61dmin",
    "/shopping",
    "/shop\u00e9",
    "/../shop",
    "/shop/x/../../admin?/shop",
    "/admin?x=/shop",
    "/admin#/shop",
    "http://shop/admin",
]

HOSTILE_LINES = [
    "GET /shop\r\nX: y",
    "get /shop",
    "GET /shop/x /admin",
    "GET\t/admin",
    "GET /admin\nGET /shop",
    "GET http://shop/admin",
    "OPTIONS *",
    "CONNECT /shop",
]


def raw_status(port, line, key=None, agent=None, *, more=""):
    """The status of a request whose line is sent byte by byte; 0 if there is none, as in HTTP/0.9."""
    head = f"{line} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n{more}"
    head += f"Authorization: Bearer {key}\r\n" if key else ""
    head += f"X-Remit-Agent: {agent}\r\n" if agent else ""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"{head}\r\n".encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0


class Backend:
    """Keeps method and target of every request that reaches it, and of the latest, headers and size of the body.

    answers: functions of a handler, called in place of the next answers, which are 200.
    """

    def __init__(self):
        self.got, self.answers = [], []
        self.headers, self.size = {}, 0
        backend = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                backend.got.append((self.command, self.path))
                backend.headers = {name.lower(): value for name, value in self.headers.items()}
                backend.size = len(self._body())
                if backend.answers:
                    backend.answers.pop(0)(self)
                    return
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_HEAD(self):
                self.do_GET()

            def do_POST(self):
                self.do_GET()

            def do_DELETE(self):
                self.do_GET()

            def _body(self):
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                whole = b""
                while size := int(self.rfile.readline(), 16):
                    whole += self.rfile.read(size)
                    self.rfile.readline()
                return whole

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
