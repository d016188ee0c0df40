"""The log of the HTTP servers of a process: faults of ours, with tracebacks.

What a client sends that is no HTTP is no fault. Anybody who reaches a port can send it, so it is
not logged.
"""

import logging

from aiohttp.http_exceptions import HttpProcessingError

log = logging.getLogger(__name__)
"""Give it to servers as their logger."""


def _is_of_client(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return isinstance(error, HttpProcessingError) and error.code < 500


log.addFilter(lambda record: not _is_of_client(record))
