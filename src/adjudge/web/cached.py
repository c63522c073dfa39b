"""Values of a page that take seconds to make: made in a thread, and again when their state has changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


REST = 4
"""While a run grows, the next value is begun after a pause of so many times as long as the last one took."""


WAIT_SECONDS = 4.0
"""How long a page waits for its first summary before it is sent without one."""


class Cached(Generic[T]):
    """A value that takes seconds to make: a thread makes it, and makes it again when its state has changed.

    A page shows the last value there is and says how old it is; no two threads make the same value at once.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._value: T | None = None
        self._state: object = None
        self._error: Exception | None = None
        self._is_making = False
        self._took = 0.0
        self._ended = 0.0
        self.number = 0
        """grows with every new value"""

    def get(self, state: object, wait_seconds: float) -> tuple[T | None, bool]:
        """The last value, and whether it is of this state; waits up to `wait_seconds` for a new one."""
        with self._changed:
            is_rested = self.number == 0 or time.monotonic() - self._ended > min(30.0, REST * self._took)
            if self._state != state and not self._is_making and is_rested:
                self._is_making = True
                threading.Thread(target=self._work, args=(state,), daemon=True).start()
            self._changed.wait_for(lambda: not self._is_making, timeout=wait_seconds)
            if self._error is not None:
                raise self._error
            return self._value, self._state == state

    def _work(self, state: object) -> None:
        began = time.monotonic()
        value: T | None = None
        error: Exception | None = None
        try:
            value = self._make()
        except Exception as raised:  # noqa: BLE001 - `get` raises it again
            error = raised
        with self._changed:
            if error is None:
                self._value, self._state = value, state
            # After an error the state stays as it was, so that a later `get` tries again.
            self._error, self._is_making = error, False
            self._ended = time.monotonic()
            self._took = self._ended - began
            self.number += 1
            self._changed.notify_all()
