"""Platforms in memory, with the addresses and shapes of their real APIs, as their own clients use them.

The shapes of MLflow and Phoenix are also tested with the real servers in `tests/ecosystem/`.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from fakeserver import Answer, FakeServer, Request, as_json


class FakePlatform:
    """All platforms at once, by their paths; keeps what it was sent."""

    def __init__(self, traces: list[dict[str, Any]] | None = None) -> None:
        self.traces = {trace["id"]: trace for trace in traces or []}
        self.langfuse = 4
        """the version: 3 knows no address of its successor, and 4 none of its predecessor"""
        self.scores: dict[str, dict[str, Any]] = {}
        self.writes = 0
        self.requests: list[Request] = []
        self.sent: list[tuple[str, Any]] = []

    def server(self) -> FakeServer:
        return FakeServer(lambda request: self.answer(request))

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        parts = urlsplit(request.path)
        pairs = parse_qsl(parts.query)
        body = json.loads(request.body) if request.body else None
        given = self._langfuse(parts.path, dict(pairs), body)
        if given is None:
            given = self._langsmith(parts.path, pairs, body)
        if given is None and parts.path in ("/v1/logs", "/v1/traces"):
            self.sent.append((parts.path, body))
            given = {}
        return as_json({"message": "no such address"}, 404) if given is None else as_json(given)

    def _langfuse(self, path: str, query: dict[str, str], body: Any) -> Any:
        if path == "/api/public/v2/observations" and self.langfuse == 4:
            return self._observations(query)
        if path.startswith("/api/public/traces") and self.langfuse == 4:
            return None
        if path == "/api/public/traces":
            ids = sorted(self.traces, reverse=True)
            if "name" in query:
                ids = [i for i in ids if self.traces[i]["name"] == query["name"]]
            size, page = int(query["limit"]), int(query["page"])
            n_pages = -(-len(ids) // size)
            shown = [{"id": i} for i in ids[(page - 1) * size : page * size]]
            return {"data": shown, "meta": {"page": page, "limit": size, "totalPages": n_pages}}
        if path.startswith("/api/public/traces/"):
            return self.traces.get(path.rpartition("/")[2])
        if path == "/api/public/v3/scores":
            wanted = query["id"].split(",")
            return {"data": [self.scores[i] for i in wanted if i in self.scores], "meta": {"limit": 100}}
        if path == "/api/public/scores" and body is not None:
            self.scores[body["id"]] = body
            self.writes += 1
            return {"id": body["id"]}
        return None

    def _observations(self, query: dict[str, str]) -> Any:
        """As the version 4 of July 2026 answers: inputs and outputs are texts, pages have a cursor."""
        if "traceId" in query:
            trace = self.traces[query["traceId"]]
            about = {"traceId": trace["id"], "sessionId": trace["sessionId"], "traceName": trace["name"]}
            root = {"id": f"{trace['id']}-root", "parentObservationId": None, "isRootObservation": True,
                    "type": "SPAN", "startTime": "2026-11-18T10:00:00Z", "name": trace["name"],
                    "input": trace["input"], "output": trace["output"]}  # fmt: skip
            below = [
                {**one, "parentObservationId": root["id"], "input": json.dumps(one["input"]),
                 "output": json.dumps(one["output"])}
                for one in trace["observations"]
            ]  # fmt: skip
            shown = [{**one, **about} for one in (root, *below)]
            start = int(query.get("cursor", 0))
            more = {"cursor": str(start + 1)} if start + 1 < len(shown) else {}
            return {"data": shown[start : start + 1], "meta": more}
        conditions = {one["column"]: one for one in json.loads(query["filter"])}
        assert conditions.pop("isRootObservation")["value"] is True
        ids = sorted(self.traces, reverse=True)
        if "traceName" in conditions:
            ids = [i for i in ids if self.traces[i]["name"] == conditions["traceName"]["value"]]
        start, size = int(query.get("cursor", 0)), int(query["limit"])
        more = {"cursor": str(start + size)} if start + size < len(ids) else {}
        return {"data": [{"id": f"{i}-root", "traceId": i} for i in ids[start : start + size]], "meta": more}

    def _langsmith(self, path: str, query: list[tuple[str, str]], body: Any) -> Any:
        if path == "/sessions":
            return [{"id": "p1", "name": "desk"}] if ("name", "desk") in query else []
        if path == "/runs/query":
            return self._runs(body)
        if path == "/feedback" and body is not None:
            self.scores[body["id"]] = body
            self.writes += 1
            return {"id": body["id"]}
        if path == "/feedback":
            runs = {value for key, value in query if key == "run"}
            offset = int(dict(query)["offset"])
            return [one for one in self.scores.values() if one["run_id"] in runs][offset : offset + 100]
        return None

    def _runs(self, body: Any) -> Any:
        if "trace" in body:
            return {"runs": self.traces[body["trace"]]["runs"], "cursors": {}}
        roots = [self.traces[i]["runs"][0] for i in sorted(self.traces, reverse=True)]
        start = int(body.get("cursor", 0))
        end = start + body["limit"]
        return {"runs": roots[start:end], "cursors": {"next": str(end)} if end < len(roots) else {}}
