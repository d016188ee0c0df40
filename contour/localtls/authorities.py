"""The local authorities of this user: created once, kept in files, valid for few names only.

An authority can only sign for the domains of the hosts for which it was created (RFC 5280, "Name
Constraints"), so clients trust it for nothing else, even if its key is stolen. A host of another
domain gets another authority; all are in one bundle. Keys have mode 0600; a key that others can
read is not used.
"""

import fcntl
import os
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509

from contour.host import errors
from provisioning import certificates, pem
from provisioning.certificates import Authority

LIFETIME = timedelta(days=5 * 365)
_SPARE = timedelta(days=60)
"""An authority that expires sooner no longer signs."""


def default_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the authorities of this user are kept. Raises RefusedError."""
    if data := environment.get("XDG_DATA_HOME"):
        return Path(data, "contour")
    try:
        return Path.home() / ".local" / "share" / "contour"
    except RuntimeError:
        raise errors.RefusedError(
            "--tls auto: this user has no home directory for the local authority; set XDG_DATA_HOME"
        ) from None


class Authorities:
    """The authorities in one folder."""

    def __init__(self, folder: Path, manifests: Iterable[Path] = ()) -> None:
        """Raises RefusedError if the folder is among the manifests."""
        self._folder = folder
        inside = [it for it in manifests if folder.resolve().is_relative_to(it.resolve())]
        if inside:
            raise errors.RefusedError(
                f"--tls auto: the local authority would be kept in {folder}, which is inside of "
                f"the manifests in {inside[0]}; set XDG_DATA_HOME to another folder"
            )

    @property
    def bundle(self) -> Path:
        """The certificates (PEM) that clients have to trust."""
        return self._folder / "authorities.pem"

    def of(self, hosts: frozenset[str], now: datetime) -> Authority:
        """An authority that may sign for all of these hosts. Raises RefusedError."""
        try:
            with self._locked():
                known = self._read()
                for it in known:
                    if is_usable(it, hosts, now):
                        return it
                domains = sorted({domain(it) for it in hosts})
                made = certificates.authority(now, domains=domains, lifetime=LIFETIME)
                self._write((*known, made))
                return made
        except OSError as error:
            raise errors.RefusedError(
                f"--tls auto: cannot keep the local authority in {self._folder}: {error.strerror}"
            ) from error

    @contextmanager
    def _locked(self) -> Generator[None]:
        """Holds a lock, so that two runs at once do not overwrite each other's authority."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @property
    def _keys(self) -> Path:
        return self._folder / "authorities-key.pem"

    def _read(self) -> tuple[Authority, ...]:
        if not self._keys.exists():
            return ()
        status = self._keys.stat()
        if status.st_mode & 0o077 or status.st_uid != os.geteuid():
            raise errors.RefusedError(
                f"--tls auto: {self._keys} can be read by others: whoever has it can sign. "
                f"Remove {self._folder}, and the authorities in it from what you trust"
            )
        certificates_ = self.bundle.read_bytes() if self.bundle.exists() else b""
        return pem.authorities(certificates_, keys=self._keys.read_bytes())

    def _write(self, found: tuple[Authority, ...]) -> None:
        """Writes keys first: a key without a certificate is harmless, and is created anew."""
        for path, content in ((self._keys, pem.keys(found)), (self.bundle, pem.bundle(found))):
            # Has mode 0600 from the beginning.
            descriptor, name = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(name).replace(path)


def domain(host: str) -> str:
    """The domain for which the authority of a host may sign: its parent domain."""
    _, _, rest = host.partition(".")
    return rest if "." in rest or host.startswith("*.") else host


def is_usable(authority: Authority, hosts: Iterable[str], now: datetime) -> bool:
    """Whether an authority can sign, is valid for a while, and may sign for all of these hosts."""
    given = authority.certificate
    if authority.key is None or not given.not_valid_before_utc <= now:
        return False
    permitted = _permitted(given)
    is_lasting = now + _SPARE < given.not_valid_after_utc
    return is_lasting and all(any(_is_within(it, name) for name in permitted) for it in hosts)


def _permitted(certificate: x509.Certificate) -> list[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound:
        return []
    return [it.value for it in found.permitted_subtrees or () if isinstance(it, x509.DNSName)]


def _is_within(host: str, name: str) -> bool:
    return host.removeprefix("*.") == name or host.endswith(f".{name}")
