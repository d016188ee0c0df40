"""Calls of functions in a process of their own, for figures that depend on earlier use of
memory."""

import asyncio
import multiprocessing
from collections.abc import Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def fresh(function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls the function in a new Python process; returns its result."""
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawning) as executor:
        return executor.submit(_run, partial(function, *args, **kwargs)).result()


def _run(function: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return asyncio.run(function())
