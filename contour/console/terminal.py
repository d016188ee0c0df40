"""Writes lines for people to standard error, whether it is a terminal, a pipe or a full disk.

What cannot be written is lost, and nothing else happens: to serve is more important than to tell.
The stream of `observability.writing` does not wait for a reader either.
"""

import os
from typing import Literal, TextIO

import click

Mark = Literal["good", "bad", "changed", "new", "gone", "note", "plain"]

_SYMBOLS: dict[Mark, tuple[str, str, str | None]] = {
    "good": ("✓", "ok", "green"),
    "bad": ("✗", "x", "red"),
    "changed": ("~", "~", None),
    "new": ("+", "+", "green"),
    "gone": ("-", "-", None),
    "note": ("!", "!", "yellow"),
    "plain": ("", "", None),
}
"""Each with its symbol, the symbol in ASCII, and its colour."""


class Terminal:
    """Lines on one stream; None is a stream that was closed before the program began."""

    def __init__(self, stream: TextIO | None, *, is_coloured: bool | None = None) -> None:
        self._stream = stream
        self._is_coloured = _has_colours(stream) if is_coloured is None else is_coloured
        self._is_unicode = _is_unicode(stream)

    def say(self, mark: Mark, text: str) -> None:
        """Writes one line. It never fails."""
        symbol, plain, colour = _SYMBOLS[mark]
        symbol = symbol if self._is_unicode else plain
        if symbol and colour and self._is_coloured:
            symbol = click.style(symbol, fg=colour)
        self._write(" ".join(filter(None, (symbol, _one_line(text)))))

    def _write(self, line: str) -> None:
        if self._stream is None:
            return
        encoding = getattr(self._stream, "encoding", None) or "ascii"
        try:
            # What the terminal cannot show is escaped.
            self._stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
            self._stream.flush()
        except (OSError, ValueError):  # a full disk, a reader that has gone; a closed stream
            return


def _one_line(text: str) -> str:
    """A foreign text, such as Envoy's, in one line and without control codes."""
    return "".join(it if it.isprintable() else " " for it in " ".join(text.split()))


def _has_colours(stream: TextIO | None) -> bool:
    """By convention: no colours for pipes, with NO_COLOR, or on a terminal that has none."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    try:
        return stream.isatty()
    except ValueError:  # it is closed
        return False


def _is_unicode(stream: TextIO | None) -> bool:
    encoding = getattr(stream, "encoding", None) or "ascii"
    try:
        "✓✗".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
