"""The extensions that a ContourConfiguration registers, and what is told of wrong ones."""

import pytest

from crds import decode
from crds.meta import NamespacedName
from dag import nodes
from dag.configuration import settings
from tests.dag.configuration.test_settings import configured, told
from tests.testbed import world

GOOD = (
    "name: a, hooks: {post: [VirtualHost, Translation]}, service: {host: ext.example, port: 9000}"
)
TLS = "{certificateRef: {namespace: a, name: ca}, clientCertificateRef: {namespace: a, name: b}}"
KIND = "{group: example.com, version: v1, kind: Guard}"


def test_an_extension_is_read() -> None:
    more = "timeout: 1s, retries: 0, refresh: 1m, mayRemoveClusters: true, mayRemoveSecrets: true"
    engine = configured(f"extensions: [{{{GOOD}, {more}}}]")
    assert not told(engine)
    found = engine.answer(settings.settings, ())
    assert found is not None
    assert found.hook_servers == (
        nodes.HookServer(
            "a", frozenset({"VirtualHost", "Translation"}), (), "ext.example", 9000, timeout=1.0,
            retries=0, may_remove_clusters=True, may_remove_secrets=True, refresh=60.0,
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("entries", "error"),
    [
        (f"{{{GOOD}}}, {{{GOOD}}}", "spec.extensions[1].name: another extension is called 'a'"),
        ("{name: a, hooks: {}, service: {unix: /s}}", "spec.extensions[0].hooks.post: names no"),
        (f"{{{GOOD}, timeout: 2m}}", "spec.extensions[0].timeout: must be from 0.001s to 60s"),
        (f"{{{GOOD}, refresh: 1s}}", "spec.extensions[0].refresh: must be from 10s"),
        (f"{{{GOOD}, resources: [{KIND}]}}", "spec.extensions[0].resources: need the hook Route"),
        (
            f"{{{GOOD}, secrets: Full}}",
            "spec.extensions[0].secrets: Full needs a Unix socket, or TLS",
        ),
        (
            "{name: a, hooks: {post: [Translation]}, secrets: Full, "
            "service: {host: a, tls: {certificateRef: {namespace: a, name: ca}}}}",
            "spec.extensions[0].secrets: Full needs a Unix socket, or TLS",
        ),
        (
            f"{{name: a, hooks: {{post: [VirtualHost]}}, service: {{host: a, tls: {TLS}}}}}",
            "spec.extensions[0].service.tls.certificateRef: Secret a/ca not found",
        ),
        (
            f"{{name: a, hooks: {{post: [VirtualHost]}}, service: {{host: a, tls: {TLS}}}}}",
            "spec.extensions[0].service.tls.clientCertificateRef: ",
        ),
    ],
)
def test_what_makes_no_sense_is_told(entries: str, error: str) -> None:
    found = told(configured(f"extensions: [{entries}]"))
    assert any(error in it for it in found), found


@pytest.mark.parametrize(
    ("name", "service", "error"),
    [
        ("a", {"host": "a"}, "with a sidecar, service.unix must be in /run/extensions"),
        ("a", {"unix": "/tmp/s"}, "with a sidecar, service.unix must be in /run/extensions"),
        (
            "a" * 54,
            {"unix": "/run/extensions/s"},
            "with a sidecar, name must not be longer than 53 characters",
        ),
        ("a" * 53, {"unix": "/run/extensions/s"}, ""),
    ],
)
def test_a_sidecar_is_reached_by_the_folder_that_it_shares(
    name: str, service: dict[str, str], error: str
) -> None:
    entry = {"name": name, "service": service, "hooks": {"post": ["VirtualHost"]}}
    found = decode.decode(world.configuration(extensions=[entry | {"sidecar": {"image": "a"}}]))
    assert isinstance(found, decode.Decoded)
    assert [it.message for it in found.complaints] == ([error] if error else [])


@pytest.mark.parametrize("service", ["{unix: /s}", f"{{host: a, tls: {TLS}}}"])
def test_private_keys_are_sent_over_a_unix_socket_or_mutual_tls(service: str) -> None:
    entry = f"name: a, hooks: {{post: [Translation]}}, secrets: Full, service: {service}"
    engine = configured(f"extensions: [{{{entry}}}]")
    assert not any(".secrets" in it for it in told(engine))
    found = engine.answer(settings.settings, ())
    assert found is not None
    assert found.hook_servers[0].sees_private_keys


@pytest.mark.parametrize(
    "group", ["apps", "gateway.networking.k8s.io", "projectcontour.io", "rbac.authorization.k8s.io"]
)
def test_kinds_of_others_cannot_be_registered(group: str) -> None:
    kind = f"{{group: {group}, version: v1, kind: Guard}}"
    found = told(configured(f"extensions: [{{{GOOD}, resources: [{kind}]}}]"))
    path = "spec.extensions[0].resources[0].group"
    assert any(f"{path}: kinds of {group} cannot be registered" in it for it in found)


def test_hooks_before_the_translation_are_told_and_nothing_else() -> None:
    post = "hooks: {pre: [Route], post: [VirtualHost]}"
    found = told(configured(f"extensions: [{{name: a, {post}, service: {{unix: /s}}}}]"))
    assert len(found) == 1
    assert "spec.extensions[0].hooks.pre: no hook is called before the translation" in found[0]


def test_tls_names_secrets() -> None:
    engine = configured(
        f"extensions: [{{name: a, hooks: {{post: [VirtualHost]}}, "
        f"service: {{host: a, tls: {TLS}}}}}]"
    )
    found = engine.answer(settings.settings, ())
    assert found is not None
    expected = nodes.HookTls(NamespacedName("a", "ca"), NamespacedName("a", "b"))
    assert found.hook_servers[0].tls == expected
