"""Functions in a process of their own, for what depends on the memory that came before."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def fresh(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the function returns in a new Python process."""
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawning) as executor:
        return executor.submit(function, *args, **kwargs).result()
