"""The death of an operator's process at a write that is chosen."""

import threading

from tests.operator.proxy import Proxy, Request
from tests.testbed.processes import Process


class KillAfterWrites:
    """Kills an operator when its API server has taken a certain number of writes."""

    def __init__(self, proxy: Proxy, after: int) -> None:
        self.operator: Process | None = None
        self.dead = threading.Event()
        self._left = after
        self._lock = threading.Lock()
        proxy.answered = self._answered

    def _answered(self, request: Request, code: int) -> None:
        """The answer is not passed on: the operator does not know that it has written."""
        if not request.is_write or code >= 400:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0 and self.operator is not None:
                self.operator.kill()
                self.dead.set()
