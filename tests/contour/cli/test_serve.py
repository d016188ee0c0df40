"""What the options of `contour serve` become."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from contour import serve as serving
from contour.cli import main
from tests.testbed.commands import write_kubeconfig


def test_leaders_sign_with_what_the_control_plane_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[serving.Options] = []

    async def serve(options: serving.Options) -> None:
        given.append(options)

    monkeypatch.setattr(serving, "serve", serve)
    config = write_kubeconfig(tmp_path / "config", "https://127.0.0.1:1", "token")
    files = {"cafile": "ca.crt", "cert-file": "tls.crt", "key-file": "tls.key"}
    for more in (["--insecure"], [f"--contour-{it}={name}" for it, name in files.items()]):
        arguments = ["serve", f"--kubeconfig={config}", "--xds-address=127.0.0.1", *more]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
    assert [it.release.bundle for it in given] == [None, Path("ca.crt")]
