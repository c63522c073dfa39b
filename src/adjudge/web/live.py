"""What takes too long to make for every request: made by a thread, kept, and made again when the run has changed.

The summary and the card of a large run take seconds. A page shows the last one there is and says
how old it is; while a run goes on, a new one is begun when a page asks, and never two at once for
one run. This file knows nothing of what it makes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

REST = 4
"""While a run grows, a new value is begun only after so many times as long as the last one took."""


class Kept(Generic[T]):
    """One value that follows a state."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._value: T | None = None
        self._state: object = None
        self._fault: Exception | None = None
        self._is_making = False
        self._took = 0.0
        self._ended = 0.0
        self.number = 0
        """grows with every new value"""

    def get(self, state: object, wait_seconds: float) -> tuple[T | None, bool]:
        """The last value, and whether it is of this state; waits a little while for the first one."""
        with self._changed:
            is_rested = self.number == 0 or time.monotonic() - self._ended > min(30.0, REST * self._took)
            if self._state != state and not self._is_making and is_rested:
                self._is_making = True
                threading.Thread(target=self._work, args=(state,), daemon=True).start()
            self._changed.wait_for(lambda: not self._is_making, timeout=wait_seconds)
            if self._fault is not None:
                raise self._fault
            return self._value, self._state == state

    def _work(self, state: object) -> None:
        began = time.monotonic()
        value: T | None = None
        fault: Exception | None = None
        try:
            value = self._make()
        except Exception as error:  # noqa: BLE001 - it is raised again, to whoever asks for the value
            fault = error
        with self._changed:
            if fault is None:
                self._value, self._state = value, state
            # After a fault no state is reached, so that whoever asks a little later makes it try again.
            self._fault, self._is_making = fault, False
            self._ended = time.monotonic()
            self._took = self._ended - began
            self.number += 1
            self._changed.notify_all()
