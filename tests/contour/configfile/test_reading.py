"""What configuration files are accepted, what they come to, and what is said of the others."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from contour.configfile import reading, translation
from contour.configfile.translation import Command, Translated
from crds import shape
from crds.envoygateway import configfile
from crds.meta import NamespacedName
from crds.ratelimitfiltersettings import RateLimitFilterSettings
from crds.ratelimitservice import Redis, RedisTLS
from crds.unserved import Unserved
from dag.configuration import reading as configurations
from tests.testbed import modelfields

NAME = NamespacedName("home", "contour")
HEAD = "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: EnvoyGateway\n"
OLDER = "apiVersion: config.gateway.envoyproxy.io/v1alpha1\nkind: EnvoyGateway\n"
SERVICE = "service: {host: localhost, port: 5005}"
HOOKS = "hooks: {xdsTranslator: {post: [VirtualHost]}}"

HELM = """\
extensionApis: {}
gateway: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
logging: {level: {default: info}}
provider:
  type: Kubernetes
  kubernetes:
    rateLimitDeployment: {container: {image: some/ratelimit}}
    shutdownManager: {image: some/gateway}
"""
"""The fields that installations by Envoy Gateway's chart have."""

CUSTOM = """\
provider:
  type: Custom
  custom:
    resource: {type: File, file: {paths: [one, two]}}
    infrastructure: {type: Host, host: {}}
"""


def translated(tmp_path: Path, text: str, command: Command = "run") -> Translated:
    path = tmp_path / "any name"
    path.write_text(text)
    return translation.translated(reading.read(path).written, NAME, command)


@pytest.mark.parametrize(
    ("text", "command", "fault"),
    [
        ("", "run", "the file is empty"),
        ("# nothing\n---\n", "run", "the file is empty"),
        ("\0", "run", "control characters are not allowed: 0x00"),
        ("a: [\n", "run", "did not find expected node content"),
        ("- 1\n", "run", "must be one EnvoyGateway"),
        (HEAD + "---\n" + HEAD, "run", "the file holds 2 documents"),
        ("kind: Pod\napiVersion: v1\n", "run", "Pod of v1 is no configuration file"),
        ("accesslog-format: json\n", "serve", "is a configuration file of upstream Contour"),
        (HEAD.replace("v1alpha1", "v9"), "run", "EnvoyGateway of gateway.envoyproxy.io/v9"),
        (HEAD + "a: &a [1]\nb: *c\n", "run", "an alias refers to no complete anchor"),
        (HEAD + "metadata: {name: x}\n", "run", "metadata: unknown field"),
        (HEAD + "gateway: {controllerName: ''}\n", "run", "gateway.controllerName: must have 1"),
        (HEAD + "provider: {type: Kubernetes, kubernetes: {foo: bar}}\n", "serve",
         "provider.kubernetes.foo: unknown field"),
        (HEAD + "provider: {type: File, file: {}, kubernetes: {}}\n", "run",
         "provider: kubernetes, file and custom are each allowed only with the type of that name"),
        (HEAD + "provider: {type: Custom}\n", "run", "provider: the type Custom needs custom"),
        (HEAD + "provider: {type: Kubernetes}\n", "run", "provider.type: Kubernetes is served by"),
        (HEAD + "provider: {type: File}\n", "serve", "provider.type: File is served by"),
        (HEAD + CUSTOM.replace("Host, host: {}", "Remote"), "run",
         "provider.custom.infrastructure.type: is not served; only Host is served"),
        (HEAD + CUSTOM.replace("    infrastructure: {type: Host, host: {}}\n", ""), "run",
         "provider.custom.infrastructure: is required"),
        (HEAD + CUSTOM.replace("type: File, file: {paths: [one, two]}", "type: Kubernetes"), "run",
         "provider.custom.resource.type: Kubernetes needs `contour serve`"),
        (HEAD + "provider: {type: Kubernetes, kubernetes: {watch: {type: Namespaces}}}\n", "serve",
         "provider.kubernetes.watch: is not served"),
        (HEAD + "provider: {type: Kubernetes, kubernetes: {deploy: {type: ControllerNamespace}}}\n",
         "serve", "provider.kubernetes.deploy.type: is not served"),
        (HEAD + "logging: {level: {infrastructure: debug}}\n", "run",
         "logging.level.infrastructure: is not served"),
        (HEAD + "logging: {level: {default: loud}}\n", "run", "logging.level.default: must be"),
        (HEAD + "admin: {}\n", "run", "admin: `contour run` has no such pages"),
        (HEAD + "admin: {enablePprof: true}\n", "serve", "admin.enablePprof: is not served"),
        (HEAD + "telemetry: {metrics: {prometheus: {disable: true}}}\n", "serve",
         "telemetry: is not served"),
        (HEAD + "extensionApis: {enableLua: true}\n", "run",
         "extensionApis.enableLua: is not served"),
        (HEAD + "rateLimit: {}\n", "serve", "rateLimit.backend: is required"),
        (HEAD + "rateLimit: {backend: {type: Redis}}\n", "serve",
         "rateLimit.backend.redis: "),
        (HEAD + "rateLimit: {backend: {type: Redis, redis: {url: 'redis://a:1'}}}\n", "serve",
         "rateLimit.backend.redis.url: "),
        (HEAD + "rateLimit: {backend: {type: Redis, redis: {url: 'a:99999'}}}\n", "serve",
         "rateLimit.backend.redis.url: 'a:99999' has no port from 1 to 65535"),
        (HEAD + "admin: {address: {host: no such}}\n", "serve", "admin.address.host: 'no such' is"),
        (HEAD + "gateway: {controllerName: a b}\n", "run", "gateway.controllerName: 'a b' is no"),
        (HEAD + "rateLimit: {backend: {type: Redis, redis: {url: 'a:1', tls: "
         "{certificateRef: {name: a}}}}}\n", "serve",
         "rateLimit.backend.redis.tls.certificateRef: is not served"),
        (HEAD + f"extension: {{{HOOKS}, service: {{host: a, unix: {{path: /x}}}}}}\n", "run",
         "extension.service: exactly one of host, fqdn, ip and unix must be set"),
        (HEAD + f"extensionManager: {{hooks: {{}}, {SERVICE}}}\n", "run",
         "extensionManager.hooks.post: names no hook"),
        (HEAD + f"extensionManagers: [{{name: a, {HOOKS}, {SERVICE}}},"
         f" {{name: a, {HOOKS}, {SERVICE}}}]\n", "run",
         "each of several extensionManagers needs a name of its own"),
        (HEAD + f"extensionManagers: [{{{HOOKS}, {SERVICE}}}]\n", "run",
         "each of several extensionManagers needs a name of its own"),
        (HEAD + f"extension: {{{HOOKS}, {SERVICE}}}\nextensionManager: {{{HOOKS}, {SERVICE}}}\n",
         "run", "only one of extension, extensionManager and extensionManagers may be set"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_refused_with_its_field(
    tmp_path: Path, text: str, command: Command, fault: str
) -> None:
    with pytest.raises(reading.FaultError) as refused:
        translated(tmp_path, text, command)
    assert str(refused.value).startswith(fault)
    assert "\n" not in str(refused.value)


def test_a_document_that_cannot_be_parsed_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(reading.FaultError) as refused:
        translated(tmp_path, HEAD + "gateway: {\n  controllerName: ]\n")
    assert refused.value.line == 4


@pytest.mark.parametrize("command", ["run", "serve"])
def test_the_defaults_are_those_that_users_know(tmp_path: Path, command: Command) -> None:
    it = translated(tmp_path, HEAD, command)
    found, errors = configurations.resolved(it.configuration)
    assert not errors
    assert found.controller_name == "gateway.envoyproxy.io/gatewayclass-controller"
    assert (found.mode, found.gateways_only) == ("PerGateway", True)
    assert found.makes_fleet == (command == "serve")
    assert it.configuration.metadata.key == NAME


MAPPED: list[tuple[str, Command, str, object]] = [
    ("gateway: {controllerName: a.b/c}", "run", "gateway.controller_name", "a.b/c"),
    (
        "extensionApis: {enableEnvoyPatchPolicy: true}", "run",
        "gateway.envoy_patch_policies.namespaces", (),
    ),
    ("rateLimit: {failClosed: true}", "run", "rate_limit_filters.fail_closed", True),
    ("rateLimit: {failClosed: true, backend: {type: Redis, redis: {url: 'a:1'}}}", "serve",
     "rate_limit_filters.fail_closed", True),
    ("rateLimit: {backend: {type: Redis, redis: {url: 'redis.shop:6379'}}}", "serve",
     "rate_limit_filters.redis.address", "redis.shop:6379"),
    ("rateLimit: {backend: {type: Redis, redis: {url: 'a:1', tls: {}}}}", "serve",
     "rate_limit_filters.redis.tls", RedisTLS()),
    ("rateLimit: {backend: {type: Redis, redis: {url: 'a:1'}}}", "serve",
     "rate_limit_filters.service.replicas", 2),
    ("rateLimit: {failClosed: true, backend: {type: Redis, redis: {url: 'a:1', tls: {}}}}",
     "run", "rate_limit_filters", RateLimitFilterSettings(
         fail_closed=True, redis=Redis(address="a:1", tls=RedisTLS()))),
    ("admin: {}", "serve", "debug.port", 19000),
    ("admin: {address: {host: 127.0.0.2, port: 1}}", "serve", "debug.address", "127.0.0.2"),
    ("extension: {hooks: {post: [VirtualHost]}, service: {host: a}}", "run",
     "extensions.0.name", "extension"),
    (f"extensionManager: {{{HOOKS}, failOpen: true, {SERVICE}}}", "run",
     "extensions.0.fail_open", True),
    (f"extensionManager: {{{HOOKS}, service: {{unix: {{path: /a}}, retry: "
     "{maxAttempts: 3}}}", "run", "extensions.0.retries", 2),
    (f"extensionManager: {{{HOOKS}, service: {{fqdn: {{hostname: a.b, port: 7}}}}}}", "run",
     "extensions.0.service.port", 7),
    (f"extensionManager: {{{HOOKS}, service: {{ip: {{address: 127.0.0.1, port: 7}}}}}}", "run",
     "extensions.0.service.host", "127.0.0.1"),
    (f"extensionManager: {{{HOOKS}, service: {{host: a, tls: "
     "{certificateRef: {name: s}}}}", "run",
     "extensions.0.service.tls.certificate_ref.namespace", "home"),
    (f"extensionManagers: [{{name: a, {HOOKS}, {SERVICE}}}, {{name: b, {HOOKS}, {SERVICE}}}]",
     "run", "extensions.1.name", "b"),
    (f"extensionManager: {{{HOOKS}, service: {{unix: {{path: /a}}}}}}", "run",
     "extensions.0.service.unix", "/a"),
    (f"extensionManager: {{{HOOKS}, service: {{host: a, tls: "
     "{certificateRef: {name: s, namespace: far}}}}", "run",
     "extensions.0.service.tls.certificate_ref.namespace", "far"),
    (f"extensionManager: {{{HOOKS}, service: {{host: a, tls: "
     "{certificateRef: {name: s}, clientCertificateRef: {name: c, namespace: far}}}}", "run",
     "extensions.0.service.tls.client_certificate_ref.name", "c"),
    ("extensionManager: {hooks: {xdsTranslator: {post: [Route]}}, resources: "
     f"[{{group: a.example.com, version: v1, kind: C}}], {SERVICE}}}", "run",
     "extensions.0.resources.0.kind", "C"),
    ("provider: {type: File, file: {paths: [one]}}", "run", "fixed.paths", (Path("one"),)),
    (CUSTOM, "run", "fixed.provider", "Custom Host"),
    ("provider: {type: Kubernetes}", "serve", "fixed.provider", "Kubernetes"),
    ("logging: {level: {default: warn}}", "run", "log_level", "warning"),
    ("extension: {hooks: {pre: [Route], post: [Route]}, service: {host: a, port: 7}}", "run",
     "spec.extensions.0.service.port", 7),
    ("extensionApis: {enableBackend: true}", "run", "spec.enable_backend", True),
]  # fmt: skip
"""Files, and where in what they come to a value is found."""


@pytest.mark.parametrize(("text", "command", "path", "value"), MAPPED)
def test_a_field_is_mapped_onto_ours(
    tmp_path: Path, text: str, command: Command, path: str, value: object
) -> None:
    it = translated(tmp_path, f"{HEAD}{text}\n", command)
    is_ours = path.partition(".")[0] in ("fixed", "log_level")
    found: Any = it if is_ours else it.configuration.spec
    for step in path.removeprefix("spec.").split("."):
        found = found[int(step)] if step.isdigit() else getattr(found, step)
    assert found == value


@pytest.mark.parametrize(("text", "command"), [it[:2] for it in MAPPED])
def test_nothing_can_be_taken_out_of_a_file_unnoticed(
    tmp_path: Path, text: str, command: Command
) -> None:
    """Without one of its values a file comes to something else, or is refused."""
    found = translated(tmp_path, f"{HEAD}{text}\n", command)
    for path, rest in modelfields.without(yaml.load(text, yaml.CSafeLoader)):
        try:
            it = translated(tmp_path, HEAD + yaml.safe_dump(rest), command)
        except reading.FaultError:
            continue
        assert it != found or path in IDLE, path


IDLE = {
    "provider.custom.infrastructure.host",
    "extensionManager.hooks.xdsTranslator.pre.0",
    "extension.hooks.pre.0",
}
"""What the file may say and nothing follows from: `host` is empty, hooks before are not called."""


def test_every_field_that_is_served_is_mapped() -> None:
    fields = set(modelfields.leaves(configfile.EnvoyGateway, _is_not_served))
    rows = {
        it for text, *_ in MAPPED for it in modelfields.paths(yaml.load(text, yaml.CSafeLoader))
    }
    missing = {_once(it) for it in fields} - {_once(it) for it in rows}
    assert {it.rpartition(".")[2] for it in missing} == {"group", "kind"}, "have one value each"


def _once(path: str) -> str:
    """The three ways to name extensions have the same model, and hooks two places."""
    found = re.sub("^extension(Manager|Managers)?[.]", "extension.", path)
    return found.replace(".hooks.xdsTranslator.", ".hooks.")


def _is_not_served(field: shape.FieldShape) -> bool:
    marks = (shape.mark(field, Unserved), shape.mark(field, configfile.Irrelevant))
    return any(it is not None for it in marks)


def test_what_is_fixed_and_the_level_of_the_log_are_known(tmp_path: Path) -> None:
    it = translated(tmp_path, f"{HEAD}{CUSTOM}logging: {{level: {{default: warn}}}}\n")
    assert (it.fixed.provider, it.fixed.paths) == ("Custom Host", (Path("one"), Path("two")))
    assert it.log_level == "warning"


def test_what_is_about_other_pods_is_told_and_taken(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(OLDER + HELM)
    told = reading.read(path).warnings
    assert [it.split(": ")[0] for it in told] == [
        "provider.kubernetes.rateLimitDeployment",
        "provider.kubernetes.shutdownManager",
        "apiVersion",
    ]
    assert translated(tmp_path, OLDER + HELM, "serve").fixed.provider == "Kubernetes"
