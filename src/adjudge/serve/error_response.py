"""An error of the service as JSON, in the form that clients of OpenAI's API read."""

from __future__ import annotations

import msgspec
from starlette.responses import Response


def error_response(status: int, code: str, message: str) -> Response:
    body = {"error": {"message": message, "type": code, "code": code}}
    return Response(msgspec.json.encode(body), status_code=status, media_type="application/json")
