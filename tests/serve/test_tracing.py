"""Traces: none if off; if on, part of the caller's trace, without anything that the caller sent."""

import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from servers import Replica, clean_env, free_port
from tenants import tenant_on

from app.main import create_app
from app.serve.otel_spans import Traced, route_of
from app.serve.tracing import traced
from app.settings import Settings

TRACE_ID, PARENT_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = {"traceparent": f"00-{TRACE_ID}-{PARENT_ID}-01"}
SECRET = "hunter2"
KEY = "svc_" + "0123abcd" * 4
HIDDEN = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Hidden())
"""


tenant = tenant_on(scope="module")


@pytest.fixture
def memory():
    return InMemorySpanExporter()


@pytest.fixture
def provider(memory):
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(SimpleSpanProcessor(memory))
    return made


@pytest.fixture
def asking(store, provider):
    """Opens a client of a traced application of its own."""
    return lambda: client_of(store.url, provider)


@asynccontextmanager
async def client_of(store_url, provider):
    app = create_app(Settings(redis_url=store_url, tracing=True))
    async with app.lifespan():
        transport = httpx.ASGITransport(Traced(app, provider))
        async with httpx.AsyncClient(transport=transport, base_url="http://remit") as client:
            yield client


@pytest.mark.slow
def test_without_tracing_nothing_of_it_is_imported():
    """The server gets the application unchanged."""
    script = (
        "import sys\nimport app.serve.supervisor, app.serve.worker\nfrom app.settings import Settings\n"
        "from app.serve.tracing import traced\nit = object()\nassert traced(it, Settings()) is it\n"
        "print([it for it in sys.modules if it == 'app.serve.otel_spans' or it.startswith('opentelemetry.sdk.trace')])"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "[]\n"


@pytest.mark.slow
def test_without_the_extra_the_start_stops_and_says_what_to_install(tmp_path):
    """Before anything is started; without tracing, the extra is not needed."""
    (tmp_path / "sitecustomize.py").write_text(HIDDEN)
    env = clean_env()
    env["PYTHONPATH"] = f"{tmp_path}:{env.get('PYTHONPATH', '')}"
    env |= {"REMIT_TRACING": "true", "REMIT_DATA_DIR": str(tmp_path / "data")}
    ran = subprocess.run([sys.executable, "-m", "app.cli", "serve"], env=env, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "Error: REMIT_TRACING needs the extra `otel`: pip install -e '.[otel]' in a checkout\n"
    assert not (tmp_path / "data").exists()

    import_all = [sys.executable, "-c", "import app.serve.supervisor, app.serve.worker"]
    subprocess.run(import_all, env=env, check=True)


async def test_a_span_belongs_to_the_callers_trace(asking, tenant, memory):
    """It is the child of the span in `traceparent`, and describes request and answer."""
    agent_id = tenant.new_agent()["id"]
    headers = {"Authorization": f"Bearer {tenant.read_key}"} | TRACEPARENT
    async with asking() as client:
        answer = await client.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": "a"}, headers=headers)
        read = await client.get(f"/v1/agents/{agent_id}", headers=headers)
        refused = await client.get("/v1/agents/unknown", headers=TRACEPARENT)
    assert [each.status_code for each in (answer, read, refused)] == [200, 200, 401]

    spans = memory.get_finished_spans()
    assert [span.name for span in spans] == ["POST /v1/authorize", *["GET /v1/agents/{agent_id}"] * 2]
    for span, status in zip(spans, (200, 200, 401), strict=True):
        assert f"{span.context.trace_id:032x}" == TRACE_ID
        assert f"{span.parent.span_id:016x}" == PARENT_ID
        assert span.attributes["http.response.status_code"] == status
        assert span.status.status_code is StatusCode.UNSET
    ids = [span.attributes.get("remit.decision.id") for span in spans]
    assert ids == [answer.json()["id"], None, None]


async def test_without_a_callers_trace_a_span_begins_a_new_one(asking, memory):
    """Also if the header is invalid; two requests are two traces."""
    async with asking() as client:
        for headers in ({}, {"traceparent": "00-" + "0" * 32 + "-0-01"}):
            await client.get("/v1/agents", headers=headers)
    first, second = memory.get_finished_spans()
    assert first.parent is second.parent is None
    assert first.context.trace_id != second.context.trace_id != 0


async def test_no_span_holds_what_a_caller_sent(asking, tenant, memory, monkeypatch):
    """No headers, query, path, body or tracestate, whatever the OTEL_* variables say."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST", ".*")
    headers = {"Authorization": f"Bearer {tenant.read_key}", "User-Agent": SECRET, "Cookie": SECRET, "Host": SECRET}
    headers |= TRACEPARENT | {"tracestate": f"a={SECRET}", "baggage": f"a={SECRET}", "X-Request-ID": SECRET}
    body = {"agent_id": tenant.new_agent()["id"], "tool_name": SECRET, "parameters": {"password": SECRET, "a": SECRET}}
    async with asking() as client:
        await client.post("/v1/authorize", json=body, headers=headers)
        await client.get(f"/v1/audit-logs?tool_name={SECRET}&key={KEY}", headers=headers)
        await client.get("/v1/agents?name=\xff", headers=headers)
        await client.delete(f"/v1/api-keys/{KEY}", headers=headers)
        await client.request(SECRET, f"/{SECRET}/{KEY}", headers=headers)

    spans = memory.get_finished_spans()
    assert len(spans) == 5
    for span in spans:
        shown = span.to_json() + repr(span.context)
        for each in (SECRET, KEY, tenant.read_key, tenant.read_key[4:], body["agent_id"]):
            assert each not in shown
    assert spans[-1].name == "_OTHER /…"


async def test_a_failure_is_seen_without_its_message(provider, memory):
    """A message may hold what a caller sent; what failed is in the log, under the request's id."""

    async def failing(scope, receive, send):
        raise ValueError(SECRET)

    scope = {"type": "http", "method": "GET", "path": "/v1/agents", "scheme": "http", "headers": []}
    with pytest.raises(ValueError, match=SECRET):
        await Traced(failing, provider)(scope, None, None)
    [span] = memory.get_finished_spans()
    assert span.attributes["error.type"] == "ValueError"
    assert span.status.status_code is StatusCode.ERROR
    assert not span.events
    assert SECRET not in span.to_json()


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/v1/authorize", "/v1/authorize"),
        ("/v1/agents/x", "/v1/agents/{agent_id}"),
        ("/v1/audit-logs/export", "/v1/audit-logs/export"),
        ("/v1/agents/x/y", "/…"),
        ("/v1/agents/", "/…"),
        ("", "/…"),
    ],
)
def test_a_span_names_the_route_as_the_document_does(path, route):
    """So span names are few, and never chosen by a caller."""
    assert route_of(path) == route


class Collector:
    """Takes what is exported to it over OTLP; `bodies` are the messages as they came."""

    def __init__(self):
        bodies = self.bodies = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def resources(self):
        return [each for body in self.bodies for each in ExportTraceServiceRequest.FromString(body).resource_spans]


@pytest.mark.slow
def test_a_replica_that_stops_has_sent_its_last_spans(store, tenant):
    """Over OTLP, to where the OTEL_* variables say, as the service `remit`; health checks are not traced."""
    collector = Collector()
    replica = Replica(store.url, REMIT_TRACING="true", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    try:
        agent_id = tenant.new_agent()["id"]
        with replica.client(tenant.read_key) as client:
            for number in range(7):
                body = {"agent_id": agent_id, "tool_name": "a", "parameters": {"a": SECRET, "b": number}}
                assert client.post("/v1/authorize", json=body, headers=TRACEPARENT).status_code == 200
    finally:
        replica.stop()
        collector.stop()
    assert replica.process.returncode == 0
    resources = collector.resources()
    attributes = {each.key: each.value.string_value for each in resources[0].resource.attributes}
    assert attributes["service.name"] == "remit"
    spans = [span for each in resources for scope in each.scope_spans for span in scope.spans]
    assert [span.name for span in spans] == ["POST /v1/authorize"] * 7
    assert {span.trace_id.hex() for span in spans} == {TRACE_ID}
    sent = b"".join(collector.bodies)
    assert not any(each.encode() in sent for each in (SECRET, tenant.read_key, agent_id))


@pytest.mark.slow
def test_without_a_collector_a_replica_answers_and_stops_as_ever(store, tenant):
    """It waits for the collector only briefly."""
    nowhere = f"http://127.0.0.1:{free_port()}"
    replica = Replica(store.url, REMIT_TRACING="true", OTEL_EXPORTER_OTLP_ENDPOINT=nowhere, REMIT_LOG_LEVEL="error")
    with replica.client(tenant.read_key) as client:
        assert client.get("/v1/agents").status_code == 200
    replica.stop()
    assert replica.process.returncode == 0


def test_the_application_is_traced_if_the_settings_say_so(memory, monkeypatch):
    """With any provider."""
    monkeypatch.setattr("app.serve.otel_spans.open_provider", TracerProvider)
    assert isinstance(traced(create_app(Settings()), Settings(tracing=True)), Traced)
