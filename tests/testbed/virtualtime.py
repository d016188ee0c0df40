"""An event loop on which waiting takes no time: when nothing is left to do, its clock goes on to
the moment at which something is due. For code that waits for nothing but that clock."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Clock(selectors.DefaultSelector):
    """Lets the time pass that a loop would wait."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "something is waited for that never comes"
        self.now += timeout
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run(what: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end; no error of a task or callback may stay unnoticed."""
    errors: list[Any] = []
    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.get_loop().set_exception_handler(lambda _, found: errors.append(found))
        result = runner.run(what)
    assert not errors
    return result
