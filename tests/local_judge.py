"""What tests of the embedded judge share: how it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from adjudge.models import LocalModel, Parameters
from adjudge.records import Call, Message, Reply


def call(prompt: str, target: str | None, kind: Any = "likelihood", key: str = "k") -> Call:
    return Call(key, "1", "p@1", ("c",), "local", (Message("user", prompt),), kind=kind, target=target)


def ask_all(model: LocalModel, asked: Sequence[Call], params: Parameters | None = None) -> list[Reply]:
    async def run() -> list[Reply]:
        try:
            return await asyncio.gather(*(model.ask(call, params or Parameters()) for call in asked))
        finally:
            await model.close()

    return asyncio.run(run())
