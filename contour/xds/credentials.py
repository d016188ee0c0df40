"""Mutual TLS from files that may be replaced at any time.

The files are checked at every handshake, so a rotation needs no restart and does not affect open
streams. A pair that does not match, as in the middle of a rotation, and a file of authorities
without a certificate, are ignored: the last good ones stay. The log tells it once for each content.
"""

import logging
import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Files:
    """PEM files: our certificate chain and its key, and the authority of our clients."""

    certificate: Path
    key: Path
    authority: Path

    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        stats = [it.stat() for it in (self.certificate, self.key, self.authority)]
        return tuple((it.st_ino, it.st_mtime_ns, it.st_size) for it in stats)


def server(files: Files) -> grpc.ServerCredentials:
    """Credentials that follow the files, and demand a certificate of every client."""
    watch = _Rotation(files)
    first = watch.configuration()
    return grpc.dynamic_ssl_server_credentials(
        first, watch.fresh, require_client_authentication=True
    )


def client(files: Files) -> grpc.ChannelCredentials:
    """Credentials of one replica that calls another, as the files are now. Raises OSError."""
    return grpc.ssl_channel_credentials(
        files.authority.read_bytes(), files.key.read_bytes(), files.certificate.read_bytes()
    )


class _Rotation:
    def __init__(self, files: Files) -> None:
        self._files = files
        self._stamp = files.stamp()
        self._told: object = None  # the last complaint

    def configuration(self) -> grpc.ServerCertificateConfiguration:
        """The content of the files. Raises OSError if it cannot be served."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._files.certificate, self._files.key)
        context.load_verify_locations(self._files.authority)
        if not context.cert_store_stats()["x509"]:  # a revocation list is enough for OpenSSL
            raise OSError(f"{self._files.authority} has no certificate")
        pair = (self._files.key.read_bytes(), self._files.certificate.read_bytes())
        return grpc.ssl_server_certificate_configuration(
            [pair], root_certificates=self._files.authority.read_bytes()
        )

    def fresh(self) -> grpc.ServerCertificateConfiguration | None:
        """The content of the files; None if they are unchanged. gRPC calls it in its own
        threads."""
        stamp = None
        try:
            stamp = self._files.stamp()
            if stamp == self._stamp:
                return None
            made = self.configuration()
        except OSError as error:
            if self._told != (said := (stamp, str(error))):
                log.warning("cannot load the new certificate, keeping the previous one: %s", error)
            self._told = said
            return None
        self._stamp = stamp
        log.info("serving with a new certificate from %s", self._files.certificate)
        return made
