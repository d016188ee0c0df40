"""TLS for the pages, from files that may be replaced at any time.

The files are checked at every handshake. A pair that does not match, as in the middle of a
rotation, is ignored: the last good one stays. Elsewhere: the same for xDS
(`contour.xds.credentials`).
"""

import logging
import ssl

from contour.pages.settings import Files

log = logging.getLogger(__name__)


def context(files: Files) -> ssl.SSLContext:
    """A context that follows the files. Raises OSError or ssl.SSLError if they do not match now."""
    made, newest, stamp = _made(files), _made(files), _stamp(files)

    def follow(socket: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext) -> None:
        nonlocal newest, stamp
        try:
            if (now := _stamp(files)) != stamp:
                newest, stamp = _made(files), now
        except (OSError, ssl.SSLError) as error:
            log.warning("cannot load the new certificate, keeping the previous one: %s", error)
        socket.context = newest

    made.sni_callback = follow
    return made


def _made(files: Files) -> ssl.SSLContext:
    found = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    found.load_cert_chain(files.certificate, files.key)
    if files.authority is not None:
        found.load_verify_locations(files.authority)
        found.verify_mode = ssl.CERT_REQUIRED
    return found


def _stamp(files: Files) -> tuple[tuple[int, int, int], ...]:
    stats = [it.stat() for it in (files.certificate, files.key, files.authority) if it]
    return tuple((it.st_ino, it.st_mtime_ns, it.st_size) for it in stats)
