"""Ends a command after errors that its user can fix: a line for each, exit code 2.

The exit is outside of `except*`: before Python 3.11.4, an exception raised within is wrapped in a
group.
"""

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import click

from observability import printable


@contextmanager
def fatal(*kinds: type[Exception], program: str = "contour") -> Generator[None]:
    """Within the context, errors of these types, alone or in groups, end the process with exit code
    2. `program`: its name, with which each line begins."""
    lines: list[str] = []
    try:
        yield
    except* kinds as failures:
        lines += [f"{program}: {it}" for it in _single(failures)]
    for line in lines:
        click.echo(printable.lines(line), err=True)
    if lines:
        sys.exit(2)


def _single(group: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    for it in group.exceptions:
        if isinstance(it, BaseExceptionGroup):
            yield from _single(it)
        else:
            yield it
