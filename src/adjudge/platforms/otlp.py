"""OpenTelemetry: scores as the event `gen_ai.evaluation.result`, over OTLP/HTTP in JSON.

`otlp:logs` sends log records, `otlp:spans` spans with the event; both name the judged trace. A collector
cannot be asked what it has, so the scores that it took are noted in a file beside the store: after a kill at
most the scores of one request are sent twice, with the same ids.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..errors import DataError
from ..version import __version__
from .client import Address, PlatformClient, address_of
from .score import PlatformScore, Record

EVENT = "gen_ai.evaluation.result"
_SIGNALS = ("logs", "spans")


def otlp_address() -> Address:
    """The collector of OTEL_EXPORTER_OTLP_ENDPOINT, with OTEL_EXPORTER_OTLP_HEADERS."""
    headers = {}
    for pair in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","):
        name, sign, value = pair.partition("=")
        if sign:
            headers[name.strip()] = unquote(value.strip())
    return address_of("otlp", ("OTEL_EXPORTER_OTLP_ENDPOINT",), "http://localhost:4318", headers)


class OtlpTarget:
    """Scores as events. `noted` is the file with what was sent before."""

    def __init__(self, signal: str, noted: Path) -> None:
        signal = signal or "logs"
        if signal not in _SIGNALS:
            raise DataError(f"otlp:{signal}: choose otlp:logs or otlp:spans.")
        self._signal, self._noted = signal, noted
        self._client = PlatformClient(otlp_address())

    async def close(self) -> None:
        await self._client.close()

    async def present(self, scores: Sequence[PlatformScore]) -> dict[str, str | None]:
        where = f"{self._client.address.url} {self._signal}"
        known: dict[str, str | None] = {}
        if self._noted.exists():
            for line in self._noted.read_text(encoding="utf-8").splitlines():
                try:
                    note = json.loads(line)
                except ValueError:
                    continue  # the last line of a push that was killed
                if note["target"] == where:
                    known[note["id"]] = note["digest"]
        return {score.id: known[score.id] for score in scores if score.id in known}

    async def write(self, scores: Sequence[PlatformScore]) -> None:
        path, body = (
            ("/v1/logs", logs_of(scores)) if self._signal == "logs" else ("/v1/traces", spans_of(scores))
        )
        await self._client.post(path, body, is_repeatable=True)
        where = f"{self._client.address.url} {self._signal}"
        with self._noted.open("a", encoding="utf-8") as file:
            for score in scores:
                file.write(json.dumps({"target": where, "id": score.id, "digest": score.digest}) + "\n")
            file.flush()
            os.fsync(file.fileno())


def logs_of(scores: Sequence[PlatformScore], now: Callable[[], int] = time.time_ns) -> Record:
    """A request with one log record for each score."""
    at = str(now())
    records = [
        {
            "timeUnixNano": at, "observedTimeUnixNano": at, "eventName": EVENT, "severityNumber": 9,
            "traceId": trace_id_of(score), "attributes": _attributes(event_of(score)),
        }
        for score in scores
    ]  # fmt: skip
    return {
        "resourceLogs": [{"resource": _RESOURCE, "scopeLogs": [{"scope": _SCOPE, "logRecords": records}]}]
    }


def spans_of(scores: Sequence[PlatformScore], now: Callable[[], int] = time.time_ns) -> Record:
    """A request with one span for each score, in the judged trace, which has the event."""
    at = str(now())
    spans = [
        {
            "traceId": trace_id_of(score),
            "spanId": hashlib.sha256(score.id.encode()).hexdigest()[:16],
            "name": f"evaluate {score.name}",
            "kind": 1,
            "startTimeUnixNano": at,
            "endTimeUnixNano": at,
            "attributes": [],
            "status": {"code": 2, "message": score.error} if score.error else {"code": 1},
            "events": [{"timeUnixNano": at, "name": EVENT, "attributes": _attributes(event_of(score))}],
        }
        for score in scores
    ]
    return {"resourceSpans": [{"resource": _RESOURCE, "scopeSpans": [{"scope": _SCOPE, "spans": spans}]}]}


def event_of(score: PlatformScore) -> dict[str, str | float]:
    """The attributes of the event, by the semantic conventions; a failure has an error type and no score."""
    about: dict[str, str | float] = {"gen_ai.evaluation.name": score.name}
    if score.error:
        about["error.type"] = score.error
    elif isinstance(score.value, str):
        about["gen_ai.evaluation.score.label"] = score.value
    elif score.value is not None:
        about["gen_ai.evaluation.score.value"] = score.value
    if score.explanation:
        about["gen_ai.evaluation.explanation"] = score.explanation
    return about | score.metadata


def trace_id_of(score: PlatformScore) -> str:
    """The trace's own id where it is one of OpenTelemetry, otherwise a hash of it."""
    plain = score.trace.removeprefix("tr-").lower()
    is_hex = len(plain) == 32 and all(letter in "0123456789abcdef" for letter in plain)
    return plain if is_hex and plain != "0" * 32 else hashlib.sha256(score.trace.encode()).hexdigest()[:32]


def _attributes(values: dict[str, Any]) -> list[Record]:
    return [
        {
            "key": key,
            "value": {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)},
        }
        for key, value in values.items()
    ]


_RESOURCE = {"attributes": _attributes({"service.name": "adjudge"})}
_SCOPE = {"name": "adjudge", "version": __version__}
