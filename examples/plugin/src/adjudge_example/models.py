"""`-m keywords:WORD`: a judge that answers 5 where the prompt contains a word, and 1 where it does not."""

from __future__ import annotations

from typing import Any

from adjudge.models import Model, Parameters
from adjudge.records import Call, Reply


class KeywordModel(Model):
    is_local = True  # its calls cost nothing

    def __init__(self, spec: str, word: str) -> None:
        super().__init__(spec, price=(0.0, 0.0))
        self._word = word

    async def ask(self, call: Call, params: Parameters) -> Reply:  # noqa: ARG002
        judged = call.messages[-1].content
        score = 5 if self._word.lower() in judged.lower() else 1
        return Reply(call.key, f"Looked for '{self._word}'. [RESULT] {score}", model_name="keywords")


def open_model(spec: str, name: str, **_connection: Any) -> KeywordModel:
    """The judge of `keywords:WORD`. A remote model would also take key_env, price and network."""
    return KeywordModel(spec, name or "please")
