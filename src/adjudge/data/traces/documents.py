"""The passages that a retriever returned, in the forms of OpenInference, LangChain, LlamaIndex, MLflow and
plain lists."""

from __future__ import annotations

from ..messages import written
from .values import first_of, object_of, parsed

_TEXTS = ("page_content", "pageContent", "content", "text", "passage", "chunk")
_WRAPPERS = ("document", "node")
_LISTS = ("documents", "docs", "results", "nodes", "matches", "chunks", "output")


def documents_in(value: object) -> list[str]:
    """The texts of the documents in the output of a retriever, in their order."""
    value = parsed(value)
    if isinstance(value, dict):
        inner = first_of(value, _LISTS)
        return documents_in(inner) if isinstance(inner, list) else [text for text in [_text(value)] if text]
    if isinstance(value, list):
        return [text for text in map(_text, value) if text.strip()]
    return [value] if isinstance(value, str) and value.strip() else []


def _text(entry: object) -> str:
    """The text of one document; one without a known key is shown as JSON."""
    if not isinstance(entry, dict):
        return written(entry)
    inner = next((object_of(entry[key]) for key in _WRAPPERS if isinstance(entry.get(key), dict)), entry)
    if isinstance(inner.get("kwargs"), dict):  # as LangChain's dumpd writes it
        inner = inner["kwargs"]
    text = first_of(inner, _TEXTS)
    return written(text) if text is not None else written(entry)
