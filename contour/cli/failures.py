"""How a command ends when something is wrong that its user can mend: a line for each, exit code 2.

The exit is outside of `except*`: before Python 3.11.4 what is raised within ends up in a group.
"""

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import click


@contextmanager
def told(*kinds: type[Exception]) -> Generator[None]:
    """Errors of these kinds, alone or in groups, end the process in this way."""
    lines: list[str] = []
    try:
        yield
    except* kinds as failures:
        lines += [f"contour: {it}" for it in _single(failures)]
    for line in lines:
        click.echo(line, err=True)
    if lines:
        sys.exit(2)


def _single(group: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    for it in group.exceptions:
        if isinstance(it, BaseExceptionGroup):
            yield from _single(it)
        else:
            yield it
