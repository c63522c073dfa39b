"""The batches that a run would submit, and what they may cost, without sending anything."""

from __future__ import annotations

from msgspec import Struct

from ..models.batch_apis.base import BatchApi
from ..models.prices import BATCH_PRICE
from ..models.remote import RemoteModel
from ..models.token_counts import TOKENS_PER_BYTE
from ..records import Call
from .plan import PlannedCall


class BatchEstimate(Struct, frozen=True):
    """The batches that calls to one model would make."""

    model: str
    calls: int
    parts: int
    megabytes: float
    cost_usd: float | None
    """at the price of batches, with the longest replies; none without a price"""


class EstimatedBatches:
    """Counts the batches that calls to one model would make, without sending anything."""

    def __init__(self, model: RemoteModel, api: BatchApi) -> None:
        self._model, self._api = model, api
        self._n_calls = self._n_parts = self._n_bytes = self._lines = self._size = 0
        self._cost: float | None = 0.0

    def add(self, planned: PlannedCall, call: Call) -> None:
        size = len(self._model.body_of(call, planned.params)) + 200
        is_full = self._lines >= self._api.most_lines or self._size + size > self._api.most_bytes
        if is_full or not self._lines:
            self._n_parts, self._lines, self._size = self._n_parts + 1, 0, 0
        self._lines, self._size = self._lines + 1, self._size + size
        self._n_calls, self._n_bytes = self._n_calls + 1, self._n_bytes + size
        cost = estimate_usd(self._model, planned, size)
        self._cost = None if self._cost is None or cost is None else self._cost + cost

    def result(self) -> BatchEstimate:
        return BatchEstimate(
            self._model.name, self._n_calls, self._n_parts, round(self._n_bytes / 1e6, 3), self._cost
        )


def estimate_usd(model: RemoteModel, planned: PlannedCall, n_bytes: int) -> float | None:
    """The most that a call may cost in a batch, by the size of
    its body and the longest reply; none without a price.
    """
    if model.price is None:
        return None
    tokens_out = model.most_reply_tokens(planned.params)
    return BATCH_PRICE * (n_bytes * TOKENS_PER_BYTE * model.price[0] + tokens_out * model.price[1]) / 1e6
