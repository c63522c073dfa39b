"""Headers that the user sets for every call of a model."""

from __future__ import annotations

import re

from ..errors import ModelError
from .base import Model
from .keys import KeySource
from .remote import RemoteModel
from .replicas import Replicas

_NOT_HEADERS = frozenset(
    ("host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding", "te",
    "upgrade")
)  # fmt: skip


_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


_FROM_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")


def set_headers(model: Model, headers: dict[str, str]) -> None:
    """Headers that are sent with every call of this model, in addition to its own."""
    if not isinstance(model, RemoteModel | Replicas):
        raise ModelError(f"{model.name} sends nothing: it takes no headers. Leave them out.")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _NOT_HEADERS:
            raise ModelError(f"{model.name}: header '{name:.80}' cannot be set. Leave it out.")
        if not (value.isascii() and value.isprintable()):
            raise ModelError(f"{model.name}: header {name} holds line breaks or characters beyond ASCII.")
        variable = header_variable(value)
        model.headers[name] = KeySource(variable) if variable else value


def header_variable(value: str) -> str | None:
    """The environment variable that the value of a header is read from; none where it is written out."""
    match = _FROM_VARIABLE.fullmatch(value)
    return None if match is None else match[1] or match[2]
