"""The whole bootstrap, judged by the Envoy that has to read it."""

import json
import subprocess
from pathlib import Path

import pytest

from contour import bootstrap
from contour.host import installation

_SOCKET = bootstrap.Pipe(Path("/run/contour/xds.sock"))
_REMOTE = bootstrap.SocketAddress("contour.projectcontour", 8001)


def _settings(
    control_plane: bootstrap.Pipe | bootstrap.SocketAddress = _SOCKET,
    monitoring: bootstrap.SocketAddress | None = None,
    credentials: bootstrap.Credentials | None = None,
    heap_bytes: int | None = None,
) -> bootstrap.Settings:
    return bootstrap.Settings(
        node="one",
        fleet="contour",
        control_plane=control_plane,
        credentials=credentials,
        admin=Path("/run/contour/admin.sock"),
        monitoring=monitoring,
        heap_bytes=heap_bytes,
    )


def _credentials(secrets: Path) -> bootstrap.Credentials:
    certificates = Path("/certificates")
    return bootstrap.Credentials(
        certificate=certificates / "tls.crt",
        key=certificates / "tls.key",
        authority=certificates / "ca.crt",
        server_name="contour",
        secrets=secrets,
    )


@pytest.mark.envoy
@pytest.mark.parametrize(
    "given",
    [
        _settings(),
        _settings(bootstrap.SocketAddress("127.0.0.1", 8001)),
        _settings(bootstrap.SocketAddress("::1", 8001)),
        _settings(_REMOTE, credentials=_credentials(Path("/run/contour"))),
        _settings(monitoring=bootstrap.SocketAddress("0.0.0.0", 8002)),
        _settings(heap_bytes=1 << 30),
    ],
    ids=["socket", "IPv4", "IPv6", "mTLS", "monitoring", "heap"],
)
def test_envoy_accepts_it_without_a_warning(given: bootstrap.Settings, tmp_path: Path) -> None:
    if given.credentials is not None:
        for name, text in bootstrap.secret_documents(given.credentials).items():
            (tmp_path / name).write_text(text)
        given = _settings(given.control_plane, credentials=_credentials(tmp_path))
    (tmp_path / "bootstrap.json").write_text(bootstrap.text(given))
    done = subprocess.run(
        [
            *(installation.binary(), "--mode", "validate", "--disable-hot-restart"),
            *("--log-level", "warning", "--config-path", tmp_path / "bootstrap.json"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().endswith("OK")


def test_the_text_is_the_document() -> None:
    given = _settings()
    assert json.loads(bootstrap.text(given)) == bootstrap.document(given)
    assert bootstrap.text(given) == bootstrap.text(given)
