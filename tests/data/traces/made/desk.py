"""A stand-in for a provider: it answers chat completions, responses and messages, first with a call of a
tool, then with a text.

The vendors' packages record what they exchange with it. All texts are invented.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SYSTEM = "You answer for the town library. Be brief."
QUESTION = "When does the reading room close on Friday?"
ARGUMENTS = {"day": "Friday"}
HOURS = "open from 9:00 to 17:30"
ANSWER = "The reading room closes at 17:30 on Friday."
PASSAGES = ["The reading room is open until 17:30 on Fridays.", "Loans last three weeks."]
SESSION = "visit-7"
PARAMETERS = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}
FUNCTION = {"name": "opening_hours", "description": "Opening hours", "parameters": PARAMETERS}
TOOL = {"type": "function", "function": FUNCTION}


def chat_completion(body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": ANSWER}
    if body.get("tools") and body["messages"][-1]["role"] != "tool":
        # As models write arguments: without spaces. Frameworks write them anew, with spaces.
        function = {"name": "opening_hours", "arguments": json.dumps(ARGUMENTS, separators=(",", ":"))}
        call = {"id": "call_hours", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 40, "completion_tokens": 12, "total_tokens": 52}
    whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1750000000, "model": "desk-1"}
    return {**whole, "choices": [choice], "usage": usage}


def response(body: dict[str, Any]) -> dict[str, Any]:
    """A response of the Responses API."""
    last = body["input"][-1] if isinstance(body["input"], list) else {}
    text = {"type": "output_text", "text": ANSWER, "annotations": []}
    entry: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}
    if body.get("tools") and last.get("type") != "function_call_output":
        entry = {"type": "function_call", "id": "fc_1", "call_id": "call_hours", "name": "opening_hours"}
        entry["arguments"] = json.dumps(ARGUMENTS, separators=(",", ":"))
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 40, "output_tokens": 12, "total_tokens": 52, **details}
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1750000000,
        "model": "desk-1",
        "usage": usage,
    }
    kept = {"instructions": body.get("instructions"), "tools": body.get("tools") or []}
    rest = {
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "metadata": {},
        "error": None,
        "status": "completed",
    }
    return {**whole, **kept, **rest, "output": [{**entry, "status": "completed"}]}


def message(body: dict[str, Any]) -> dict[str, Any]:
    """A message of Anthropic's API."""
    content = body["messages"][-1]["content"]
    is_done = isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)
    block: dict[str, Any] = {"type": "text", "text": ANSWER}
    if body.get("tools") and not is_done:
        block = {"type": "tool_use", "id": "call_hours", "name": "opening_hours", "input": ARGUMENTS}
    usage = {"input_tokens": 40, "output_tokens": 12}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": "desk-1", "usage": usage}
    return {
        **whole,
        "content": [block],
        "stop_reason": "end_turn" if is_done else "tool_use",
        "stop_sequence": None,
    }


_PATHS = {"/chat/completions": chat_completion, "/responses": response, "/messages": message}


class _Desk(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = next((make for path, make in _PATHS.items() if self.path.endswith(path)), lambda _body: {})
        data = json.dumps(answer(body)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def start(port: int = 0) -> str:
    """Serve until the process ends; the address without a path."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _Desk)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


if __name__ == "__main__":
    start(int(sys.argv[1]))
    threading.Event().wait()
