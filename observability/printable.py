"""Text that others wrote, such as tenants, clients and servers: shown without control of the
terminal.

A name or a message may hold escape sequences, which clear a terminal, write its title or hide
lines, and characters that turn the direction of text.
"""

import re

# C0 and C1 controls, and what turns the direction of text or breaks a line elsewhere.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def line(text: str) -> str:
    """The text in one line: every unprintable character is an escape, line breaks too."""
    return UNPRINTABLE.sub(_escape, text)


def lines(text: str) -> str:
    """The text with its line breaks; every other unprintable character is an escape."""
    return "\n".join(map(line, text.split("\n")))


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode()
