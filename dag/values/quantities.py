"""Quantities of Kubernetes, such as `32Ki`: numbers of bytes.

Kubernetes, "Quantity": a decimal number with a suffix of powers of 1024 or 1000, or an exponent.
"""

import math
from decimal import Decimal

import re2

_FORM = re2.compile(r"(\d+(?:\.\d*)?|\.\d+)(Ki|Mi|Gi|Ti|k|M|G|T|m)?")
_SUFFIXES = {
    "": Decimal(1),
    "m": Decimal("0.001"),
    **{it: Decimal(1000) ** n for n, it in enumerate("kMGT", 1)},
    **{f"{it}i": Decimal(1024) ** n for n, it in enumerate("KMGT", 1)},
}


def refusal(given: int | str, least: int, most: int) -> str | None:
    """Why this is no number of bytes between these bounds; None if it is."""
    if _FORM.fullmatch(str(given)) is None:
        return f"{str(given)[:60]!r} is no number of bytes such as 32Ki"
    if not least <= whole(given) <= most:
        return f"{given} is not between {least} and {most}"
    return None


def whole(given: int | str) -> int:
    """The number of bytes of a valid quantity, rounded up."""
    text = str(given)
    number = text.rstrip("KMGTkmi")
    return math.ceil(Decimal(number) * _SUFFIXES[text[len(number) :]])
