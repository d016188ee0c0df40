"""`contour certgen`: files and Secrets that both ends accept, and nothing written twice."""

import base64
import json
import ssl
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from cryptography import x509

from contour.cli import main
from contour.xds import credentials


def certgen(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, ["certgen", *arguments], env=environment)


def test_the_files_serve_and_are_private(tmp_path: Path) -> None:
    result = certgen("--pem", str(tmp_path))
    assert result.exit_code == 0, result.output
    names = {"CAcert", "CAkey", "contourcert", "contourkey", "envoycert", "envoykey"}
    assert {it.stem for it in tmp_path.glob("*.pem")} == names
    for path in tmp_path.glob("*.pem"):
        assert path.stat().st_mode & 0o777 == 0o600
    files = credentials.Files(
        tmp_path / "contourcert.pem", tmp_path / "contourkey.pem", tmp_path / "CAcert.pem"
    )
    assert credentials.server(files)
    client = ssl.create_default_context(cafile=tmp_path / "CAcert.pem")
    client.load_cert_chain(tmp_path / "envoycert.pem", tmp_path / "envoykey.pem")


def test_an_application_gets_a_certificate_of_its_namespace(tmp_path: Path) -> None:
    asked = ("--pem", "--grpc-client", "shop", "--grpc-client", "bank", str(tmp_path))
    assert certgen(*asked).exit_code == 0
    path = tmp_path / "grpc-client-shop-cert.pem"
    found = x509.load_pem_x509_certificate(path.read_bytes())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == [
        f"projectcontour://grpc-{role}/shop" for role in ("client", "server")
    ]
    client = ssl.create_default_context(cafile=tmp_path / "CAcert.pem")
    client.load_cert_chain(path, tmp_path / "grpc-client-shop-key.pem")
    assert certgen(*asked).output == ""
    refused = certgen("--yaml", "--grpc-client", "shop")
    assert (refused.exit_code, "--pem" in refused.output) == (2, True)


@pytest.mark.parametrize(
    ("again", "is_renewed"),
    [(("--grpc-client", "bank"), False), (("--overwrite",), True), ((), False)],
)
def test_applications_keep_certificates_that_are_not_named_again(
    tmp_path: Path, again: tuple[str, ...], *, is_renewed: bool
) -> None:
    certgen("--pem", "--grpc-client", "shop", str(tmp_path))
    before = _contents(tmp_path)
    (tmp_path / "envoykey.pem").unlink()  # so that there is something to do
    assert certgen("--pem", *again, str(tmp_path)).exit_code == 0
    after = _contents(tmp_path)
    name = "grpc-client-shop-cert.pem"
    assert (after[name] != before[name]) == is_renewed
    client = ssl.create_default_context(cafile=tmp_path / "CAcert.pem")
    client.load_cert_chain(tmp_path / name, tmp_path / "grpc-client-shop-key.pem")


def test_called_again_it_leaves_alone_what_is_not_due(tmp_path: Path) -> None:
    certgen("--pem", str(tmp_path))
    before = _contents(tmp_path)
    assert certgen("--pem", str(tmp_path)).output == ""
    assert _contents(tmp_path) == before
    (tmp_path / "envoykey.pem").unlink()
    certgen("--pem", str(tmp_path))
    after = _contents(tmp_path)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"envoycert.pem", "envoykey.pem"}
    certgen("--pem", "--overwrite", str(tmp_path))
    assert all(it != after[name] for name, it in _contents(tmp_path).items())


def test_the_secrets_are_those_that_contours_manifests_mount() -> None:
    result = certgen("--yaml", "--namespace", "edge", "--secrets-name-suffix", "-blue")
    assert result.exit_code == 0, result.output
    found = {it["metadata"]["name"]: it for it in yaml.load_all(result.stdout, yaml.CSafeLoader)}
    assert list(found) == ["contour-authority-blue", "envoycert-blue", "contourcert-blue"]
    for name in ("contourcert-blue", "envoycert-blue"):
        assert found[name]["type"] == "kubernetes.io/tls"
        assert set(found[name]["data"]) == {"ca.crt", "tls.crt", "tls.key"}
        assert found[name]["metadata"]["namespace"] == "edge"
    server = x509.load_pem_x509_certificate(
        base64.b64decode(found["contourcert-blue"]["data"]["tls.crt"])
    )
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"contour", "contour-blue.edge"} <= set(names.get_values_for_type(x509.DNSName))


def test_the_namespace_of_the_pod_is_the_default() -> None:
    (first, *_) = yaml.load_all(
        certgen("--yaml", CONTOUR_NAMESPACE="edge").stdout, yaml.CSafeLoader
    )
    assert first["metadata"]["namespace"] == "edge"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "--kube, --yaml or --pem"),
        (["--pem", "/proc/nowhere"], "/proc/nowhere"),
        (["--yaml", "--certificate-lifetime", "0"], "--certificate-lifetime"),
        (["--kube", "--incluster"], "service account"),
        (["--kube", "--kubeconfig", "/nowhere"], "/nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], told: str) -> None:
    result = certgen(*arguments)
    assert result.exit_code == 2
    assert told in result.output


def test_an_api_server_that_is_away_is_told(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(_kubeconfig("http://127.0.0.1:9")))
    result = certgen("--kube", "--kubeconfig", str(path))
    assert result.exit_code == 1
    assert "cannot renew all Secrets" in result.output


def _contents(folder: Path) -> dict[str, bytes]:
    return {it.name: it.read_bytes() for it in folder.glob("*.pem")}


def _kubeconfig(url: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
        "clusters": [{"name": "one", "cluster": {"server": url}}],
        "users": [{"name": "one", "user": {}}],
    }
