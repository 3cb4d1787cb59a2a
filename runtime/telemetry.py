"""Spans and structured log lines of tasks.

The trace id of a task is its UUID, so that the spans of every worker over days join one trace
without anything being handed on.  The root span's id is derived from it; it is written when the
task ends.  Without a configured endpoint nothing here does anything but compare a name with None.
"""

import hashlib
import logging
import os
import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import structlog
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
)
from opentelemetry.util.types import Attributes

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_SPANS_PER_SLICE = 50
_SECRET_WORDS = ("secret", "token", "password", "authorization", "api_key", "cookie")
_SECRET_LOOKS = re.compile(
    r"(?i:bearer|basic)\s+[\w.~+/=-]{6,}|\b(?:sk|sbx|ghp|xox[abp])[-_][\w-]{6,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    re.DOTALL,
)

_forced: ContextVar[tuple[int, int] | None] = ContextVar("forced_ids", default=None)
_tracer: trace.Tracer | None = None
_provider: TracerProvider | None = None


# --- ids and sampling ---------------------------------------------------------------------------


def root_span_id(task_id: UUID) -> int:
    """Derive the id of a task's root span, so that every worker can name it as the parent."""
    digest = hashlib.blake2b(task_id.bytes, digest_size=8, person=b"root-span").digest()
    return int.from_bytes(digest) or 1


class _Ids(IdGenerator):
    """Random ids, except where a root span's own are asked for."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()

    def generate_span_id(self) -> int:
        forced = _forced.get()
        return self._random.generate_span_id() if forced is None else forced[1]

    def generate_trace_id(self) -> int:
        forced = _forced.get()
        return self._random.generate_trace_id() if forced is None else forced[0]


class TaskSampler(Sampler):
    """Keeps a share of the traces by a hash of the trace id.

    The ratio sampler of the SDK reads the id's lower bits as a random number; in a UUIDv7 some of
    them are fixed, so that it keeps everything or nothing.  All workers agree on each task.
    """

    def __init__(self, share: float) -> None:
        """Take the share to keep, from 0 to 1."""
        self._bound = round(max(0.0, min(share, 1.0)) * (1 << 64))

    def keeps(self, trace_id: int) -> bool:
        """Tell whether a trace is kept."""
        digest = hashlib.blake2b(trace_id.to_bytes(16), digest_size=8, person=b"sampled").digest()
        return int.from_bytes(digest) < self._bound

    def should_sample(  # noqa: PLR0913, PLR0917 (the SDK's signature)
        self,
        parent_context: otel_context.Context | None,
        trace_id: int,
        name: str,  # noqa: ARG002
        kind: SpanKind | None = None,  # noqa: ARG002
        attributes: Attributes = None,
        links: Any = None,  # noqa: ARG002
        trace_state: Any = None,
    ) -> SamplingResult:
        """Decide by the trace id alone; a parent of another process has the same one."""
        del parent_context
        keeps = self.keeps(trace_id)
        decision = Decision.RECORD_AND_SAMPLE if keeps else Decision.DROP
        return SamplingResult(decision, attributes if keeps else None, trace_state)

    def get_description(self) -> str:
        """Name the sampler."""
        return f"TaskSampler{{{self._bound / (1 << 64):.4f}}}"


# --- switching it on ----------------------------------------------------------------------------


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Tell whether the environment names somewhere to send spans to."""
    off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not off and any(environ.get(name) for name in _ENDPOINTS)


def start(service: str, exporter: SpanExporter | None = None, share: float | None = None) -> bool:
    """Switch spans on if the environment wants them.

    Args:
        service: What this process is called, unless OTEL_SERVICE_NAME says otherwise.
        exporter: For tests; the OTLP exporter otherwise.
        share: Share of the tasks that are kept; OTEL_TRACES_SAMPLER_ARG otherwise.

    Returns:
        Whether they are on.
    """
    global _tracer, _provider  # noqa: PLW0603 (one of each per process, as the SDK has it)
    if exporter is None and not is_wanted(os.environ):
        return False
    if exporter is None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter,  # costs 0.2 s to import; only those who send spans pay for it
        )

        exporter = OTLPSpanExporter()
    kept = float(os.environ.get("OTEL_TRACES_SAMPLER_ARG", "1")) if share is None else share
    name = os.environ.get("OTEL_SERVICE_NAME", f"signalbox-{service}")
    _provider = TracerProvider(
        sampler=TaskSampler(kept),
        id_generator=_Ids(),
        resource=Resource.create({"service.name": name}),
    )
    _provider.add_span_processor(BatchSpanProcessor(exporter))
    _tracer = _provider.get_tracer("signalbox")
    return True


def stop() -> None:
    """Send what is still waiting and switch spans off."""
    global _tracer, _provider
    ending, _tracer, _provider = _provider, None, None
    if ending is not None:
        ending.shutdown()


def provider() -> TracerProvider | None:
    """Give the provider, for the Django instrumentation of the web process; None when off."""
    return _provider


# --- spans of tasks -----------------------------------------------------------------------------


def _under_root(task_id: UUID) -> otel_context.Context:
    parent = SpanContext(
        trace_id=task_id.int,
        span_id=root_span_id(task_id),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(NonRecordingSpan(parent), otel_context.Context())


@dataclass
class Slice:
    """One worker's stretch of work on one task: a span, with its steps below.

    At most fifty steps have spans of their own; the rest are counted on the slice.
    """

    task_id: UUID
    agent: str
    worker: str
    span: Span | None = None
    steps: int = 0
    _context: otel_context.Context | None = field(default=None, repr=False)

    def begin(self) -> None:
        """Open the span, if spans are on."""
        if _tracer is None:
            return
        attributes = {
            "signalbox.task.id": str(self.task_id),
            "signalbox.agent": self.agent,
            "signalbox.worker": self.worker,
        }
        self.span = _tracer.start_span("slice", _under_root(self.task_id), attributes=attributes)
        self._context = trace.set_span_in_context(self.span, otel_context.Context())

    def end(self, state: str) -> None:
        """Close the span with the state the task was left in."""
        if self.span is None:
            return
        self.span.set_attribute("signalbox.state", state)
        if self.steps > _SPANS_PER_SLICE:
            self.span.set_attribute("signalbox.steps.uncounted", self.steps - _SPANS_PER_SLICE)
        self.span.set_attribute("signalbox.steps", self.steps)
        self.span.end()

    def call(self, tool: str, effect: str, call_id: str, attempt: int) -> "CallSpan":
        """Open the span of one tool call."""
        self.steps += 1
        if _tracer is None or self._context is None or self.steps > _SPANS_PER_SLICE:
            return CallSpan(None)
        attributes: dict[str, str | int] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": call_id,
            "signalbox.task.id": str(self.task_id),
            "signalbox.tool.effect": effect,
            "signalbox.attempt": attempt,
        }
        return CallSpan(
            _tracer.start_span(f"execute_tool {tool}", self._context, attributes=attributes),
        )


@dataclass
class CallSpan:
    """The span of one tool call; None when spans are off or there are too many."""

    span: Span | None

    def end(self, error: BaseException | None = None) -> None:
        """Close it; an error is named by its type, its text may hold anything."""
        if self.span is None:
            return
        if error is not None:
            self.span.set_attribute("error.type", type(error).__name__)
            self.span.set_status(Status(StatusCode.ERROR, type(error).__name__))
        self.span.end()


def born_at(task_id: UUID) -> datetime:
    """Read from a task's UUIDv7 when it was created, to the millisecond."""
    return datetime.fromtimestamp((task_id.int >> 80) / 1000, UTC)


def task_ended(task_id: UUID, agent: str, state: str, created_at: datetime, at: datetime) -> None:
    """Write a task's root span, once it has ended."""
    if _tracer is None:
        return
    token = _forced.set((task_id.int, root_span_id(task_id)))
    try:
        span = _tracer.start_span(
            f"invoke_agent {agent}",
            otel_context.Context(),
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": agent,
                "signalbox.task.id": str(task_id),
                "signalbox.state": state,
            },
            start_time=int(created_at.timestamp() * 1e9),
        )
    finally:
        _forced.reset(token)
    if state != "terminated_success":
        span.set_status(Status(StatusCode.ERROR, state))
    span.end(int(at.timestamp() * 1e9))


def link(task_id: UUID) -> None:
    """Note on a request's own span which task it concerns; neither adopts the other's trace."""
    span = trace.get_current_span()
    if span.is_recording():
        span.add_link(SpanContext(task_id.int, root_span_id(task_id), is_remote=True))


def instrument_django() -> None:
    """Give every request a span; must hold: settings are there, the handler is not made yet."""
    if _provider is None:
        return
    from opentelemetry.instrumentation.django import DjangoInstrumentor

    DjangoInstrumentor().instrument(tracer_provider=_provider)


# --- logs ---------------------------------------------------------------------------------------


def _without_secrets(_logger: object, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Blank values that are secret by their name or by their look."""
    for name, value in event.items():
        if any(word in name.lower() for word in _SECRET_WORDS):
            event[name] = "[redacted]"
        elif isinstance(value, str):
            event[name] = _SECRET_LOOKS.sub("[redacted]", value)
    return event


def configure_logs(level: int = logging.INFO) -> None:
    """Log one JSON object a line to standard error, for our loggers and everybody else's."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_secrets,
        structlog.processors.format_exc_info,
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("dramatiq").setLevel(logging.ERROR)
    logging.getLogger("httpx").setLevel(logging.WARNING)
