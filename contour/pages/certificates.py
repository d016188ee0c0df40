"""TLS for the pages, from files that may be replaced at any time.

The files are checked at every handshake. A pair that does not match, as in the middle of a
rotation, and a file of authorities without a certificate, are ignored: the last good ones stay. The
log tells it once for each content. Elsewhere: the same for xDS (`contour.xds.credentials`).
"""

import logging
import ssl

from contour.pages.settings import Files

log = logging.getLogger(__name__)


def context(files: Files) -> ssl.SSLContext:
    """A context that follows the files. Raises OSError if they cannot be served now."""
    made, newest, stamp = _made(files), _made(files), _stamp(files)
    told: object = None  # the last complaint

    def follow(socket: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext) -> None:
        nonlocal newest, stamp, told
        now = None
        try:
            if (now := _stamp(files)) != stamp:
                newest, stamp = _made(files), now
        except OSError as error:
            if told != (said := (now, str(error))):
                log.warning("cannot load the new certificate, keeping the previous one: %s", error)
            told = said
        socket.context = newest

    made.sni_callback = follow
    return made


def _made(files: Files) -> ssl.SSLContext:
    found = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    found.load_cert_chain(files.certificate, files.key)
    if files.authority is not None:
        found.load_verify_locations(files.authority)
        if not found.cert_store_stats()["x509"]:  # a revocation list is enough for OpenSSL
            raise OSError(f"{files.authority} has no certificate")
        found.verify_mode = ssl.CERT_REQUIRED
    return found


def _stamp(files: Files) -> tuple[tuple[int, int, int], ...]:
    stats = [it.stat() for it in (files.certificate, files.key, files.authority) if it]
    return tuple((it.st_ino, it.st_mtime_ns, it.st_size) for it in stats)
