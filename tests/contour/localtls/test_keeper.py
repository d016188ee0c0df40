"""Certificates of a local authority: for whom, by whom, and what is never done."""

import ipaddress
import os
import ssl
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from contour.complaints import ManifestSource
from contour.events import Batch
from contour.files import documents, store
from contour.host import errors
from contour.localtls import authorities, keeper
from contour.localtls.authorities import Authorities
from crds.meta import NamespacedName
from crds.secret import Secret
from provisioning import certificates, pem
from tests.testbed import pairs

NOW = datetime.now(UTC)
WEB = NamespacedName("default", "web-tls")
PROXY = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: web}
spec: {virtualhost: {fqdn: web.example.com, aliases: [www.example.com], tls: {secretName: web-tls}}}
"""
INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: blog}
spec: {tls: [{secretName: web-tls, hosts: [blog.example.com]}], rules: [{host: x.example.com}]}
"""
GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: contour
  listeners:
  - name: https
    protocol: HTTPS
    port: 443
    hostname: "*.example.com"
    tls: {certificateRefs: [{name: web-tls}]}
"""


class Run:
    """A store of files and a keeper behind it; `secrets` are what the instance would have."""

    def __init__(self, folder: Path) -> None:
        self.now, self.said = NOW, list[str]()
        self.authorities = Authorities(folder)
        self.keeper = keeper.Keeper(self.authorities, self.said.append, lambda: self.now)
        self.secrets: dict[NamespacedName, Secret] = {}
        self._store = store.Store()

    def save(self, name: str, text: str) -> None:
        file = ManifestSource(name)
        self._store.write(file, documents.texts(text.encode()))
        self._store.release(file)
        self.take(self.keeper.completed(self._store.batch()))

    def take(self, batch: Batch) -> None:
        for it in batch.events:
            if it.kind.kind == "Secret" and it.object is None:
                self.secrets.pop(it.key, None)
            elif isinstance(it.object, Secret):
                self.secrets[it.key] = it.object

    @property
    def names(self) -> set[str]:
        """Those of the certificate in force; empty if there is none."""
        if WEB not in self.secrets:
            return set()
        found = x509.load_pem_x509_certificate(self.secrets[WEB].data["tls.crt"])
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return set(names.get_values_for_type(x509.DNSName))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "authority")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (PROXY, {"web.example.com", "www.example.com"}),
        (INGRESS, {"blog.example.com"}),
        (INGRESS.replace(", hosts: [blog.example.com]", ""), {"x.example.com"}),
        (GATEWAY, {"*.example.com"}),
        (INGRESS.replace("}], rules", "}, {secretName: web-tls, hosts: [b.example.com]}], rules"),
         {"blog.example.com", "b.example.com"}),
        (GATEWAY + GATEWAY[GATEWAY.index("  - name"):].replace("https", "b").replace("*", "b.a"),
         {"*.example.com", "b.a.example.com"}),
        (PROXY.replace("tls: {secretName: web-tls}", "tls: {passthrough: true}"), set()),
        (GATEWAY.replace('hostname: "*.example.com"', ""), set()),
        (PROXY.replace("fqdn: web.example.com, aliases: [www.example.com]", "fqdn: '*'"), set()),
    ],
)  # fmt: skip
def test_hosts_that_want_tls_get_a_certificate(run: Run, text: str, names: set[str]) -> None:
    run.save("a.yaml", text)
    assert run.names == names
    run.save("a.yaml", "")
    assert run.secrets == {}


def test_a_secret_is_for_all_who_refer_to_it_and_is_not_made_again_for_nothing(run: Run) -> None:
    run.save("a.yaml", PROXY)
    run.save("b.yaml", INGRESS)
    assert run.names == {"web.example.com", "www.example.com", "blog.example.com"}
    before = run.secrets[WEB]
    run.save("a.yaml", PROXY.replace("metadata: {", "metadata: {labels: {a: b}, "))
    assert run.secrets[WEB] is before
    run.save("b.yaml", "")
    assert run.names == {"web.example.com", "www.example.com"}


def test_a_secret_of_a_file_wins_and_when_it_is_gone_ours_is_there_again(run: Run) -> None:
    run.save("a.yaml", PROXY)
    ours = run.secrets[WEB]
    run.save("b.yaml", pairs.secret("web-tls"))
    assert run.secrets[WEB].data["tls.crt"] != ours.data["tls.crt"]
    assert run.names != {"web.example.com", "www.example.com"}
    run.save("b.yaml", "")
    assert run.names == {"web.example.com", "www.example.com"}


def test_certificates_are_renewed_and_also_if_the_clock_was_set_back(run: Run) -> None:
    run.save("a.yaml", PROXY)
    for now, is_new in [
        (NOW + timedelta(days=29), False),
        (NOW + timedelta(days=31), True),
        (NOW - timedelta(days=400), True),
    ]:
        before, run.now = run.secrets[WEB], now
        run.take(run.keeper.renewed())
        assert (run.secrets[WEB] is not before) == is_new


@pytest.mark.parametrize("age", [timedelta(), timedelta(days=31)], ids=["first", "renewal"])
def test_what_could_not_be_made_is_tried_again_and_nothing_stays_of_it(
    run: Run, age: timedelta
) -> None:
    keys = run.authorities.bundle.with_name("authorities-key.pem")
    run.save("b.yaml", PROXY.replace("web", "other"))
    if age:
        run.save("a.yaml", PROXY)
    before, run.now = run.secrets.get(WEB), NOW + age
    keys.chmod(0o644)
    run.take(run.keeper.renewed())
    run.save("a.yaml", PROXY)
    assert run.secrets.get(WEB) is before
    keys.chmod(0o600)
    run.take(run.keeper.renewed())
    assert run.secrets[WEB] is not before
    run.now += timedelta(days=31)
    keys.chmod(0o644)
    run.take(run.keeper.renewed())
    run.save("a.yaml", "")
    assert WEB not in run.secrets


def test_the_authority_is_made_once_and_signs_for_its_domain_alone(tmp_path: Path) -> None:
    first, again = Run(tmp_path), Run(tmp_path)
    first.save("a.yaml", PROXY)
    bundle = first.authorities.bundle.read_bytes()
    again.save("a.yaml", PROXY)
    assert again.authorities.bundle.read_bytes() == bundle
    (authority,) = x509.load_pem_x509_certificates(bundle)
    constraints = authority.extensions.get_extension_for_class(x509.NameConstraints)
    assert constraints.critical
    assert constraints.value.permitted_subtrees == [x509.DNSName("example.com")]
    excluded = [it.value for it in constraints.value.excluded_subtrees or ()]
    assert excluded == [ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0")]
    again.save("b.yaml", PROXY.replace("example.com", "corp.test").replace("web", "other"))
    assert len(x509.load_pem_x509_certificates(again.authorities.bundle.read_bytes())) == 2
    assert again.authorities.bundle.read_bytes().startswith(bundle)


def test_clients_that_trust_the_bundle_accept_the_certificate_and_none_beside_its_domain(
    tmp_path: Path,
) -> None:
    run = Run(tmp_path)
    run.save("a.yaml", PROXY)
    authority = run.authorities.of(frozenset({"web.example.com"}), NOW)
    stolen = certificates.leaf(
        authority,
        certificates.Subject(("www.bank.test",), ("server",)),
        keeper.LIFETIME,
        NOW,
    )
    good = run.secrets[WEB].data
    assert _handshake(run, good["tls.crt"], good["tls.key"], "web.example.com") is None
    bad = pem.certificate(stolen.certificate), pem.key(stolen.key)
    assert "permitted subtree violation" in str(_handshake(run, *bad, "www.bank.test"))


def _handshake(run: Run, chain: bytes, key: bytes, name: str) -> ssl.SSLError | None:
    """Of a client that trusts the bundle, in memory."""
    pair = run.authorities.bundle.with_name("pair.pem")
    pair.write_bytes(chain + key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pair)
    client = ssl.create_default_context(cafile=run.authorities.bundle)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(back, there, server_hostname=name),
        server.wrap_bio(there, back, server_side=True),
    ]
    for side in sides * 3:
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLError as error:
            return error
    return None


def test_the_key_is_for_this_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "authority"
    run = Run(folder)
    run.save("a.yaml", PROXY)
    modes = {it.name: stat.S_IMODE(it.stat().st_mode) for it in folder.iterdir()}
    assert modes["authorities-key.pem"] == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / "authorities-key.pem").chmod(0o640)
    late = Run(folder)
    late.save("a.yaml", PROXY)
    assert late.secrets == {}
    assert "can be read by others" in late.said[0]


def _unwritable(folder: Path) -> None:
    folder.write_text("a file")


def _without_domain(folder: Path) -> None:
    folder.mkdir()
    (folder / "authorities.pem").write_text("rubbish")
    (folder / "authorities-key.pem").write_text("rubbish")
    (folder / "authorities-key.pem").chmod(0o600)


@pytest.mark.parametrize(("prepare", "is_made"), [(_unwritable, False), (_without_domain, True)])
def test_what_cannot_be_kept_or_read_is_told_or_made_anew(
    tmp_path: Path, prepare: Callable[[Path], None], is_made: bool
) -> None:
    folder = tmp_path / "authority"
    prepare(folder)
    run = Run(folder)
    run.save("a.yaml", PROXY)
    assert bool(run.secrets) is is_made
    assert ("no certificate was made" in run.said[0]) is not is_made


def test_it_is_never_kept_among_the_manifests(tmp_path: Path) -> None:
    with pytest.raises(errors.RefusedError, match="inside of the manifests"):
        Authorities(tmp_path / "manifests" / "share" / "contour", [tmp_path / "manifests"])
    assert authorities.default_folder({"XDG_DATA_HOME": "/x"}) == Path("/x/contour")
    assert authorities.default_folder(dict(os.environ, XDG_DATA_HOME="")).parts[-1] == "contour"


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("shop.example.com", "example.com"),
        ("*.example.com", "example.com"),
        ("a.shop.co.uk", "shop.co.uk"),
        ("shop.test", "shop.test"),
        ("*.test", "test"),
        ("localhost", "localhost"),
    ],
)
def test_the_domain_around_a_host(host: str, domain: str) -> None:
    assert authorities.domain(host) == domain
