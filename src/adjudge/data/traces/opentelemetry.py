"""Spans of OpenTelemetry by four conventions: OpenTelemetry's own (`gen_ai.*`), OpenInference, Langfuse's and
MLflow's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..json_rows import Row
from ..table import Problems
from . import gen_ai, langfuse, mlflow, openinference
from .calls import TracedCall, assembled
from .spans import Span, spans_in
from .trace import Trace

_CONVENTIONS: tuple[Callable[[Span], TracedCall | None], ...] = (
    gen_ai.gen_ai_call,
    langfuse.langfuse_call,
    mlflow.mlflow_call,
    openinference.openinference_call,
)
SEARCHED = (
    f"the attributes {gen_ai.CONTENTS} (OpenTelemetry), {openinference.CONTENTS} (OpenInference),"
    f" {langfuse.CONTENTS} (Langfuse) and {mlflow.CONTENTS} (MLflow). Instrumentations record them only where"
    " their settings say so, such as OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"
)


def read_opentelemetry(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Trace]]:
    spans = (span for number, record in records for span in spans_in(number, record))
    return assembled(map(call_of, spans), problems, SEARCHED)


def call_of(span: Span) -> TracedCall:
    """The call in a span, by the first convention that finds contents in it; a span of no convention is
    unknown."""
    calls = [call for convention in _CONVENTIONS if (call := convention(span)) is not None]
    with_contents = [call for call in calls if call.input is not None or call.output is not None]
    if with_contents or calls:
        return (with_contents or calls)[0]
    return TracedCall(
        span.number,
        span.trace,
        span.id,
        span.parent,
        span.at,
        "unknown",
        span.service,
        None,
        None,
        span.error,
    )
