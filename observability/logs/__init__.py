"""The log of the process: a line for each event, for machines or for people.

`lines` writes them, `repeats` keeps one fault from filling a disk. Modules log with the standard
library as usual; what they add as `extra` becomes fields of a JSON line. Requests that Envoy serves
are not known here, and requests to our own pages are not logged.
"""

import logging
from functools import partial
from typing import Literal, TextIO

from observability import writing
from observability.logs import lines, repeats

Format = Literal["text", "json"]

LEVELS = ("debug", "info", "warning", "error")

_CHATTY = ("aiohttp.access", "asyncio", "grpc", "kubernetes")  # below warnings, for nobody


def configure(format_: Format = "text", level: str = "info", stream: TextIO | None = None) -> None:
    """Logs to a stream, standard error by default, replacing all other handlers."""
    formatter = lines.Json() if format_ == "json" else lines.Text()
    sink = logging.StreamHandler(stream or writing.standard_error(partial(_lost, formatter)))
    sink.setFormatter(formatter)
    sink.addFilter(repeats.Repeats())
    root = logging.getLogger()
    for before in list(root.handlers):
        root.removeHandler(before)
    root.addHandler(sink)
    set_level(level)
    logging.captureWarnings(True)


def _lost(formatter: logging.Formatter, lost: int) -> str:
    said = {"name": __name__, "levelno": logging.WARNING, "levelname": "WARNING"}
    record = logging.makeLogRecord({**said, "msg": writing.lost_lines(lost)})
    return formatter.format(record)


def set_level(level: str) -> None:
    """The least severe messages that are logged from now on."""
    root = logging.getLogger()
    root.setLevel(level.upper())
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
