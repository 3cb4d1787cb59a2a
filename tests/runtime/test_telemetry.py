"""Spans and log lines: one trace per task, whoever works on it, and no secrets."""

import json
import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import UUID

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from runtime import telemetry
from runtime.engine.ports import Chance
from runtime.telemetry import Slice, TaskSampler, born_at, root_span_id, task_ended

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TASK = UUID("0197f3a2-1111-7222-8333-44445555c4e1")


class Receiver:
    """An OTLP receiver over HTTP on this machine."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = ExportTraceServiceRequest.FromString(body)
                for resource in request.resource_spans:
                    for scope in resource.scope_spans:
                        receiver.spans.extend(scope.spans)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.server.shutdown()
    found.server.server_close()


def work(worker: str, *, calls: int = 1) -> None:
    stretch = Slice(TASK, "aftersales", worker)
    stretch.begin()
    for number in range(calls):
        stretch.call("get_order", "read", f"0.{number}.0", 1).end()
    stretch.end("planning")


def test_the_spans_of_three_workers_arrive_as_one_tree(receiver: Receiver) -> None:
    for worker in ("w1", "w2", "w3"):
        telemetry.start("worker", OTLPSpanExporter(endpoint=receiver.url), share=1.0)
        work(worker)
        if worker == "w3":
            task_ended(TASK, "aftersales", "terminated_success", NOW, NOW + timedelta(days=2))
        telemetry.stop()

    spans = receiver.spans
    by_id = {span.span_id: span for span in spans}
    roots = [span for span in spans if not span.parent_span_id]
    assert {span.trace_id for span in spans} == {TASK.bytes}
    assert [span.name for span in roots] == ["invoke_agent aftersales"]
    assert len(spans) == 1 + 3 + 3
    assert all(span.parent_span_id in by_id for span in spans if span.parent_span_id)


def test_the_root_span_lasts_as_long_as_the_task() -> None:
    exporter = InMemorySpanExporter()
    telemetry.start("worker", exporter, share=1.0)
    task_ended(TASK, "aftersales", "terminated_failed", NOW, NOW + timedelta(days=2))
    telemetry.stop()

    (root,) = exporter.get_finished_spans()
    assert root.context.span_id == root_span_id(TASK)
    assert root.end_time is not None
    assert root.start_time is not None
    assert root.end_time - root.start_time == 2 * 86_400 * 10**9
    assert not root.status.is_ok


def test_a_long_slice_has_few_spans_and_a_count() -> None:
    exporter = InMemorySpanExporter()
    telemetry.start("worker", exporter, share=1.0)
    work("w1", calls=500)
    telemetry.stop()

    spans = exporter.get_finished_spans()
    (stretch,) = [span for span in spans if span.name == "slice"]
    assert len(spans) == 51
    assert stretch.attributes is not None
    assert stretch.attributes["signalbox.steps"] == 500


def test_an_error_is_named_by_its_type_and_not_quoted() -> None:
    exporter = InMemorySpanExporter()
    telemetry.start("worker", exporter, share=1.0)
    stretch = Slice(TASK, "aftersales", "w1")
    stretch.begin()
    stretch.call("pay", "keyed", "0.1.0", 1).end(ValueError("Authorization: Bearer sk-test"))
    stretch.end("planning")
    telemetry.stop()

    assert "sk-test" not in "".join(span.to_json() for span in exporter.get_finished_spans())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_a_share_of_the_tasks_is_kept_although_their_ids_are_ordered_by_time(share: float) -> None:
    chance, sampler = Chance(seed=7), TaskSampler(share)
    ids = [chance.uuid7(NOW + timedelta(milliseconds=n)) for n in range(4000)]

    kept = sum(sampler.keeps(task_id.int) for task_id in ids)

    assert abs(kept / len(ids) - share) < 0.03


def test_without_an_endpoint_nothing_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", raising=False)

    assert not telemetry.start("worker")
    work("w1")
    assert telemetry.provider() is None


def test_a_task_knows_when_it_was_born() -> None:
    assert born_at(Chance(seed=1).uuid7(NOW)) == NOW


def test_log_lines_are_json_and_hide_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.getLogger().handlers[:]
    telemetry.configure_logs()
    try:
        logging.getLogger("runtime.test").warning(
            "called %s with Authorization: Bearer sk-test-123456",
            "get_order",
            extra={"task_id": str(TASK), "api_token": "sbx_very_secret"},
        )
    finally:
        logging.getLogger().handlers[:] = before

    line = json.loads(capsys.readouterr().err.strip().splitlines()[-1])
    assert line["event"] == "called get_order with Authorization: [redacted]"
    assert line["task_id"] == str(TASK)
    assert "sbx_very_secret" not in json.dumps(line)
    assert "sk-test" not in json.dumps(line)


def test_a_request_that_submits_a_task_names_it_and_keeps_a_trace_of_its_own() -> None:
    exporter = InMemorySpanExporter()
    telemetry.start("web", exporter, share=1.0)
    provider = telemetry.provider()
    assert provider is not None
    with provider.get_tracer("test").start_as_current_span("POST /tasks"):
        telemetry.link(TASK)
    telemetry.stop()

    (request,) = exporter.get_finished_spans()
    assert request.context.trace_id != TASK.int
    assert [link.context.trace_id for link in request.links] == [TASK.int]
