"""Numbers as values of options, with the bounds of those who read them."""

import math

import click

COUNT = click.IntRange(0, 2**31 - 1)
POSITIVE = click.IntRange(1, 2**31 - 1)
LONG = click.IntRange(0, 2**63 - 1)


class _Seconds(click.FloatRange):
    """A time in seconds, which may be infinite."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number."""
        found: float = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail("nan is no time", param, ctx)
        return found


SECONDS = _Seconds(0)
