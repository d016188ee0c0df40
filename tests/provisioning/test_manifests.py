"""What is installed: closed pods, few rights, and nothing of one instance in another's way."""

import itertools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from contour.cli import main
from contour.kubernetes import scope
from crds import decode, kinds, unserved, workloads
from provisioning import admission, installation, manifests, names, published, rendering
from provisioning.installation import ControlPlane, Fleet, Installation, Place

Document = dict[str, Any]

ROOT = Path(__file__).parents[2]

_SHAPES = {
    "quickstart": installation.installation(Place()),
    "namespaced": installation.installation(Place(), watch_namespaces=("a", "b")),
    "managed": installation.installation(Place(), makes_fleet=True),
    "second": installation.installation(Place(namespace="edge", suffix="-blue")),
    "deployment": Installation(
        fleet=Fleet(workload=workloads.Workload(type="Deployment", replicas=3))
    ),
}


def pods(documents: list[Document]) -> Iterator[tuple[str, Document]]:
    """The template of every pod, by the object that makes it."""
    for it in documents:
        spec = it.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            yield f"{it['kind']} {it['metadata']['name']}", spec["template"]


def containers(pod: Document) -> list[Document]:
    """Every container of a pod."""
    return [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]


@pytest.fixture(params=_SHAPES)
def documents(request: pytest.FixtureRequest) -> list[Document]:
    return manifests.everything(_SHAPES[request.param])


def test_every_pod_is_as_restricted_as_pod_security_knows(documents: list[Document]) -> None:
    """Pod Security Standards, profile Restricted, field by field."""
    allowed = {"secret", "emptyDir", "configMap", "projected", "downwardAPI"}
    found = dict(pods(documents))
    assert len(found) >= 3
    for pod in found.values():
        spec = pod["spec"]
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] != 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert all(it.keys() - {"name"} <= allowed for it in spec.get("volumes", ()))
        for container in containers(pod):
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["readOnlyRootFilesystem"] is True
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert all("hostPort" not in port for port in container.get("ports", ()))
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]


def test_a_replica_that_hangs_is_out_of_its_service_before_envoys_look_for_another(
    documents: list[Document],
) -> None:
    """Envoy's keepalive: a ping after 5 s of silence, 3 s for the answer (`contour.bootstrap`)."""
    (probe,) = (
        container["readinessProbe"]
        for name, pod in pods(documents)
        for container in containers(pod)
        if name.startswith("Deployment contour") and "readinessProbe" in container
    )
    timeout = probe.get("timeoutSeconds", 1)
    most = probe.get("failureThreshold", 3) * (probe["periodSeconds"] + timeout)
    assert most <= 6, "it leaves 2 s for the endpoints to reach every node"


def test_a_token_is_mounted_only_where_somebody_uses_it(documents: list[Document]) -> None:
    mounted = {name: pod["spec"]["automountServiceAccountToken"] for name, pod in pods(documents)}
    for name, is_mounted in mounted.items():
        assert is_mounted is ("envoy" not in name), name
    for it in documents:
        if it["kind"] == "ServiceAccount":
            assert it["automountServiceAccountToken"] is False


def test_what_refers_to_another_object_finds_it(documents: list[Document]) -> None:
    present = {(it["kind"], it["metadata"]["name"]) for it in documents}
    present |= {("ClusterRole", it) for it in (manifests.CLUSTER_ROLE, manifests.ADDED_ROLE)}
    for it in documents:
        if it["kind"].endswith("RoleBinding"):
            assert (it["roleRef"]["kind"], it["roleRef"]["name"]) in present
            for subject in it["subjects"]:
                assert (subject["kind"], subject["name"]) in present
    for _, pod in pods(documents):
        assert ("ServiceAccount", pod["spec"]["serviceAccountName"]) in present
        volumes = {it["name"] for it in pod["spec"].get("volumes", ())}
        used = [it["name"] for c in containers(pod) for it in c.get("volumeMounts", ())]
        assert set(used) == volumes
    templates = [pod["metadata"]["labels"] for _, pod in pods(documents)]
    for selector in _selectors(documents):
        assert [it for it in templates if selector.items() <= it.items()], selector


def test_ports_that_are_named_are_there(documents: list[Document]) -> None:
    named = {
        port["name"]: port["containerPort"]
        for _, pod in pods(documents)
        for container in containers(pod)
        for port in container.get("ports", ())
    }
    for service in (it for it in documents if it["kind"] == "Service"):
        for port in service["spec"]["ports"]:
            target = port["targetPort"]
            assert target in named or target in named.values()
    for policy in (it for it in documents if it["kind"] == "NetworkPolicy"):
        for rule in policy["spec"]["ingress"]:
            assert {port["port"] for port in rule["ports"]} <= {8000, 8001, 8002, 8080, 8081, 8443}


def test_a_port_that_ends_envoy_or_reads_its_keys_is_open_to_nobody() -> None:
    documents = manifests.fleet(Fleet())
    (policy,) = [it for it in documents if it["kind"] == "NetworkPolicy"]
    open_to_all = [it for it in policy["spec"]["ingress"] if "from" not in it]
    assert [port["port"] for it in open_to_all for port in it["ports"]] == [8080, 8443]
    text = yaml.safe_dump(documents)
    assert "--admin-address=/admin/admin.sock" in text


def test_rights_are_to_read_the_kinds_and_to_write_statuses_and_finalizers() -> None:
    granted = _granted(manifests.cluster_roles()[0]["rules"])
    wanted = {("events.k8s.io", "events", verb) for verb in ("create", "patch")}
    for kind in (it for it in kinds.IN_CLUSTERS if not it.opt_in):
        wanted |= {(kind.group, kind.plural, verb) for verb in ("list", "watch")}
        if kind.has_status:
            wanted.add((kind.group, kind.plural, "get"))
            wanted.add((kind.group, f"{kind.plural}/status", "patch"))
        if kind.kind in {"Gateway", "GatewayClass"}:
            wanted.add((kind.group, kind.plural, "patch"))
    assert granted == wanted


def test_of_the_definitions_of_kinds_a_single_one_may_be_read() -> None:
    rules = manifests.cluster_roles()[0]["rules"]
    (rule,) = [it for it in rules if it["resources"] == ["customresourcedefinitions"]]
    assert rule["resourceNames"] == ["gatewayclasses.gateway.networking.k8s.io"]


def test_no_right_is_granted_by_a_wildcard(documents: list[Document]) -> None:
    (deployment,) = [
        it["metadata"]
        for it in documents
        if it["kind"] == "Deployment" and it["metadata"]["labels"]["app"].startswith("contour")
    ]
    home, contour = deployment["namespace"], deployment["name"]
    for it in documents:
        for rule in it.get("rules", ()) if it["kind"].endswith("Role") else ():
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
            assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])
            if "delete" in rule["verbs"]:
                if it["kind"] == "Role":
                    assert (it["metadata"]["name"], it["metadata"]["namespace"]) == (contour, home)
                else:
                    apart = {manifests.GATEWAYS_ROLE, manifests.CLASSES_ROLE}
                    assert it["metadata"]["name"] in apart
                assert not {"secrets", "roles", "rolebindings"} & set(rule["resources"])


def test_who_watches_some_namespaces_has_no_rights_outside_of_them() -> None:
    documents = manifests.everything(_SHAPES["namespaced"])
    cluster_scoped = {"Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"}
    assert not cluster_scoped & {it["kind"] for it in documents}
    roles = {
        it["metadata"]["namespace"]: _granted(it["rules"])
        for it in documents
        if it["kind"] == "Role" and it["metadata"]["name"] != "contour-certgen"
    }
    assert set(roles) == {"projectcontour", "a", "b"}
    for namespace in ("a", "b"):
        assert ("", "secrets", "watch") in roles[namespace]
        assert ("", "namespaces", "watch") not in roles[namespace]
    home = {resource for _, resource, _ in roles["projectcontour"]}
    assert home == {
        *("leases", "events", "services", "endpointslices", "secrets", "configmaps"),
        *("contourconfigurations", "contourconfigurations/status"),
        *("extensionservices", "extensionservices/status"),
    }


@pytest.mark.parametrize("watched", [(), ("a", "b")])
def test_whatever_the_provider_asks_for_is_granted(watched: tuple[str, ...]) -> None:
    """Except, with Roles alone, what is in no namespace: that it does without."""
    given = installation.installation(Place(), watch_namespaces=watched)
    granted: dict[str, set[tuple[str, str, str]]] = {"": set()}
    for it in manifests.everything(given):
        if it["kind"] in ("Role", "ClusterRole"):
            namespace = it["metadata"].get("namespace", "")
            granted.setdefault(namespace, set()).update(_granted(it.get("rules", [])))
    usual = [it for it in kinds.IN_CLUSTERS if not it.opt_in]
    for kind, collection in scope.sources(scope.Scope(watched, "projectcontour"), usual):
        needed = {(kind.group, kind.plural, verb) for verb in ("list", "watch")}
        if kind.namespaced or not watched:
            assert needed <= granted[collection.namespace], collection
        else:
            assert not needed & granted[""]


def test_two_instances_share_nothing_but_the_cluster_role_and_the_kinds() -> None:
    shared = {"Namespace", "ClusterRole"}
    places = (Place(), Place(suffix="-blue"), Place(namespace="edge", suffix="-blue"))
    names = [
        {
            (it["kind"], it["metadata"].get("namespace"), it["metadata"]["name"])
            for it in manifests.everything(installation.installation(place))
            if it["kind"] not in shared
        }
        for place in places
    ]
    for one, other in itertools.combinations(names, 2):
        assert not one & other


def test_labels_of_a_place_are_on_every_object_and_pod() -> None:
    owner = {"example.com/owner": "one"}
    place = Place(labels=owner)
    found = [
        *manifests.control_plane(ControlPlane(place=place)),
        *manifests.fleet(Fleet(place=place)),
        *manifests.certgen(place),
    ]
    for it in found:
        assert owner.items() <= it["metadata"]["labels"].items()
    for _, pod in pods(found):
        assert owner.items() <= pod["metadata"]["labels"].items()


def test_an_upgrade_can_leave_the_fleet_for_later() -> None:
    """`kubectl apply -l app.kubernetes.io/name!=envoy`: all of the fleet has the label."""
    fleet = {(it["kind"], it["metadata"]["name"]) for it in manifests.fleet(Fleet())}
    labelled = {
        (it["kind"], it["metadata"]["name"])
        for it in manifests.everything(Installation())
        if it["metadata"]["labels"].get("app.kubernetes.io/name") == "envoy"
    }
    assert labelled == fleet


def test_what_a_configuration_says_of_the_pods_arrives() -> None:
    toleration = workloads.Toleration(key="edge", operator="Exists", toleration_seconds=9)
    fleet = Fleet(
        workload=workloads.Workload(
            type="Deployment",
            replicas=5,
            resources=workloads.Resources(requests={"cpu": "2", "memory": "1Gi"}),
            placement=workloads.Placement(node_selector={"a": "b"}, tolerations=(toleration,)),
            pod_annotations={"c": "d"},
            log_level="debug",
            base_id=3,
            overload_max_heap_size=12345,
        ),
        publishing=workloads.NetworkPublishing(
            type="ClusterIPService", ip_family_policy="PreferDualStack"
        ),
    )
    found = {it["kind"]: it for it in manifests.fleet(fleet)}
    spec = found["Deployment"]["spec"]
    pod = spec["template"]["spec"]
    assert (spec["replicas"], pod["nodeSelector"]) == (5, {"a": "b"})
    assert pod["tolerations"] == [{"key": "edge", "operator": "Exists", "tolerationSeconds": 9}]
    assert spec["template"]["metadata"]["annotations"]["c"] == "d"
    envoy = pod["containers"][1]
    assert envoy["resources"]["requests"] == {"cpu": "2", "memory": "1Gi"}
    assert envoy["args"][-4:] == ["--log-level", "debug", "--base-id", "3"]
    assert "--overload-max-heap=12345" in pod["initContainers"][0]["args"]
    service = found["Service"]["spec"]
    assert (service["type"], service["ipFamilyPolicy"]) == ("ClusterIP", "PreferDualStack")
    assert "externalTrafficPolicy" not in service
    assert "PodDisruptionBudget" in found


def test_values_are_values_whatever_is_in_them() -> None:
    nasty = 'x"\n---\nkind: Secret # {{ 1 }} {% raw %} \u2028 \x85 \ufeff 😀'
    place = Place(labels={"example.com/owner": nasty})
    found = manifests.fleet(Fleet(place=place, image=nasty))
    assert len(found) == len(manifests.fleet(Fleet()))
    (workload,) = [it for it in found if it["kind"] == "DaemonSet"]
    assert workload["spec"]["template"]["spec"]["containers"][1]["image"] == nasty
    assert workload["metadata"]["labels"]["example.com/owner"] == nasty


def test_ports_of_nodes_are_taken_only_when_asked_for() -> None:
    given = installation.installation(Place(), takes_host_ports=True)
    documents = manifests.everything(given)
    ports = [
        port["hostPort"]
        for _, pod in pods(documents)
        for container in containers(pod)
        for port in container.get("ports", ())
        if "hostPort" in port
    ]
    assert ports == [80, 443]
    (namespace,) = [it for it in documents if it["kind"] == "Namespace"]
    assert "pod-security.kubernetes.io/enforce" not in namespace["metadata"]["labels"]


@pytest.mark.parametrize("component", ["bootstrap", "certgen", "envoy", "serve"])
def test_the_arguments_of_the_containers_are_those_of_the_commands(component: str) -> None:
    if component not in main.list_commands(None):  # type: ignore[arg-type]
        pytest.skip(f"contour {component} is not there")
    used = [
        args
        for shape in _SHAPES.values()
        for _, pod in pods(manifests.everything(shape))
        for container in containers(pod)
        if container["command"] == ["contour"] and (args := container["args"])[0] == component
    ]
    assert used
    for args in used:
        shown = CliRunner().invoke(main, [*args, "--help"])
        assert shown.exit_code == 0, shown.output
        options = {it.partition("=")[0] for it in args if it.startswith("--")}
        assert all(f"{it} " in shown.output or f"{it}\n" in shown.output for it in options)


def test_the_configuration_is_one_that_can_be_read() -> None:
    (document,) = manifests.configuration(Installation())
    found = decode.decode(document)
    assert isinstance(found, decode.Decoded)
    assert not found.complaints
    assert not unserved.unserved(found.object)
    assert "contour:" not in document["spec"], "the operator would take it for its own"


def test_the_files_are_those_that_are_in_the_wheel() -> None:
    printed = CliRunner().invoke(main, ["manifests"]).stdout
    assert published.files()["quickstart.yaml"].endswith(printed)
    crds = CliRunner().invoke(main, ["manifests", "--crds"]).stdout
    names = {it["spec"]["names"]["kind"] for it in yaml.load_all(crds, yaml.CSafeLoader)}
    assert names == {it.kind for it in kinds.KINDS.values() if it.ours and not it.opt_in}


@pytest.mark.parametrize("group", manifests.OPT_IN)
def test_the_file_of_a_group_has_its_definitions_with_our_mark_and_the_rights_to_them(
    group: str,
) -> None:
    documents = manifests.opted_in(group)
    wanted = [it for it in kinds.KINDS.values() if it.opt_in and it.group == group]
    *definitions, role = documents
    assert [it["spec"]["names"]["kind"] for it in definitions] == [
        it.kind for it in wanted if it.ours
    ]
    assert {it["metadata"]["labels"]["app.kubernetes.io/part-of"] for it in documents} == {
        "contour"
    }
    (total,) = manifests.cluster_roles([manifests.ADDED_ROLE])
    (selector,) = total["aggregationRule"]["clusterRoleSelectors"]
    assert selector["matchLabels"].items() <= role["metadata"]["labels"].items()
    readable = {(group, it.plural, verb) for it in wanted for verb in ("list", "watch")}
    assert readable <= _granted(role["rules"])
    # Where a DiscoveryService of MARIN3R is, nothing is written.
    assert {it for it, _, _ in _granted(role["rules"])} - {f"operator.{group}"} == {group}
    assert published.files()[f"optional/{group}.yaml"]


def test_what_is_opted_in_to_is_in_no_installation(documents: list[Document]) -> None:
    text = yaml.safe_dump(documents)
    assert not [group for group in manifests.OPT_IN if group in text]


def _granted(rules: list[Document]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def _selectors(documents: list[Document]) -> Iterator[dict[str, str]]:
    for it in documents:
        spec = it.get("spec", {})
        selector = spec.get("selector") or spec.get("podSelector") or {}
        if it["kind"] == "Service":
            yield selector
        elif it["kind"] != "CustomResourceDefinition" and "matchLabels" in selector:
            yield selector["matchLabels"]


def test_the_operator_is_printed_as_it_is_published_and_with_other_images() -> None:
    printed = CliRunner().invoke(main, ["manifests", "--operator"]).stdout
    assert printed in published.files()["operator.yaml"]
    options = ["--image=reg/contour:2", "--envoy-image=reg/envoy:3", "--namespace=platform"]
    changed = CliRunner().invoke(main, ["manifests", "--operator", *options]).stdout
    (deployment,) = [
        it for it in yaml.load_all(changed, yaml.CSafeLoader) if it["kind"] == "Deployment"
    ]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert deployment["metadata"]["namespace"] == "platform"
    assert container["image"] == "reg/contour:2"
    assert container["args"] == [
        "run",
        "--incluster",
        "--log-format=json",
        "--envoy-image=reg/envoy:3",
    ]
    assert names.IMAGE not in changed


@pytest.mark.parametrize(
    ("options", "argument", "has_policy"),
    [
        ([], None, True),
        (["--trusted-namespaces="], "--trusted-namespaces=", False),
        (["--trusted-namespaces=ingress, edge-*"], "--trusted-namespaces=ingress,edge-*", False),
    ],
)
def test_either_the_api_server_asks_authors_or_the_operator_trusts_namespaces(
    options: list[str], argument: str | None, has_policy: bool
) -> None:
    printed = CliRunner().invoke(main, ["manifests", "--operator", *options]).stdout
    every = {it["kind"]: it for it in yaml.load_all(printed, yaml.CSafeLoader)}
    (container,) = every["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][3:] == ([argument] if argument else [])
    assert ("ValidatingAdmissionPolicy" in every) is has_policy
    assert ("ValidatingAdmissionPolicyBinding" in every) is has_policy


@pytest.mark.parametrize(
    "options",
    [["--operator", "--managed"], ["--operator", "--suffix=-a"], ["--trusted-namespaces=a"]],
)
def test_options_that_have_no_effect_are_refused(options: list[str]) -> None:
    found = CliRunner().invoke(main, ["manifests", *options])
    assert found.exit_code == 2
    assert "operator" in found.output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--crds", "--operator"], "--operator cannot be used with --crds"),
        (["--crds", "--suffix=-a"], "--suffix cannot be used with --crds"),
        (["--suffix=-certgen"], "--suffix: -certgen must not begin with -certgen or -operator"),
        (["--suffix=-operator-2"], "--suffix: -operator-2 must not begin with"),
        (["--namespace=a,b"], "--namespace': 'a,b' is no name of a namespace"),
        (["--watch-namespaces=a,B"], "--watch-namespaces': 'B' is no name of a namespace"),
    ],
)
def test_options_that_would_print_something_else_are_refused(options: list[str], told: str) -> None:
    found = CliRunner().invoke(main, ["manifests", *options])
    assert found.exit_code == 2
    assert told in found.output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--namespace=b", "--suffix=-a"], "instance in namespace a-b without --suffix"),
        (["--namespace=operator"], "ClusterRoleBinding contour-operator is also that of the oper"),
        (["--namespace=operator", "--suffix=x"], ""),
        (["--namespace=b", "--suffix=-a", "--watch-namespaces=b"], ""),
        (["--namespace=a-b"], ""),
    ],
)
def test_a_name_in_the_cluster_that_another_installation_may_have_is_told(
    options: list[str], told: str
) -> None:
    found = CliRunner().invoke(main, ["manifests", *options])
    assert found.exit_code == 0
    assert told in found.stderr
    assert bool(found.stderr) == bool(told)


def test_a_variable_of_the_admission_policy_refers_to_those_before_it_alone() -> None:
    """An API server refuses the policy otherwise."""
    policy: dict[str, Any] = dict(admission.policy())
    known: set[str] = set()
    for it in policy["variables"]:
        assert set(re.findall(r"variables\.(\w+)", it["expression"])) <= known, it["name"]
        known.add(it["name"])
    said = json.dumps([policy["conditions"], policy["validations"]])
    assert set(re.findall(r"variables\.(\w+)", said)) <= known
    assert "variables." not in json.dumps(policy["conditions"])


@pytest.mark.parametrize(
    "field",
    [
        "extensions",
        "envoy.bootstrap",
        "envoy.clientCertificate",
        "gateway.envoyPatchPolicies",
        "gateway.parametersNamespaces",
    ],
)
def test_who_gives_control_of_envoys_is_asked_with_and_without_an_instance(field: str) -> None:
    """What the expressions mean, `tests/operator/test_admission.py` asks an API server."""
    policy: dict[str, Any] = dict(admission.policy())
    written = "object.spec." + ".".join(f"?{it}" for it in field.split("."))
    assert f"{written}.hasValue()" in policy["conditions"][0]["expression"]
    said = [
        it for it in policy["validations"] if it.get("message", "").startswith(f"spec.{field}:")
    ]
    wanted = [it["expression"] for it in said if "variables.reads" in it["expression"]]
    assert len(wanted) == 1
    (variable,) = re.findall(r"^!variables\.(\w+)", wanted[0])
    made = {it["name"]: it["expression"] for it in policy["variables"]}
    assert written in made[variable]
    assert f"variables.{variable}" in made["controls"]
    assert "variables.controls" in made["asked"]


def test_kustomize_changes_the_image_of_the_operator_and_of_all_that_it_makes(
    tmp_path: Path,
) -> None:
    """The base is copied: kustomize wants relative paths, and tests have a folder elsewhere."""
    shutil.copytree(ROOT / "manifests" / "operator", tmp_path / "base")
    name, _, tag = names.IMAGE.partition(":")
    overlay = {
        "resources": ["../base"],
        "images": [{"name": name, "newName": "reg/contour", "newTag": "2"}],
    }
    (tmp_path / "overlay").mkdir()
    (tmp_path / "overlay" / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    kubectl = Path(sys.executable).with_name("kubectl")
    made = subprocess.run(
        [kubectl, "kustomize", tmp_path / "overlay"], capture_output=True, text=True, check=True
    ).stdout
    assert "image: reg/contour:2" in made
    assert f"{name}:{tag}" not in made


@pytest.mark.parametrize(
    ("options", "roles"),
    [
        ([], {"contour", "contour-added"}),
        (["--managed"], {"contour", "contour-added"}),
        (["--gateway-fleets"], {"contour", "contour-added", "contour-gateways"}),
        (["--managed", "--outer-class"], {"contour", "contour-added", "contour-outer-classes"}),
        (["--watch-namespaces=a"], set()),
    ],
)
def test_every_cluster_role_that_is_installed_is_bound(options: list[str], roles: set[str]) -> None:
    printed = CliRunner().invoke(main, ["manifests", *options]).stdout
    every = list(yaml.load_all(printed, yaml.CSafeLoader))
    assert {it["metadata"]["name"] for it in every if it["kind"] == "ClusterRole"} == roles
    bound = {it["roleRef"]["name"] for it in every if it["kind"] == "ClusterRoleBinding"}
    assert bound == roles


def test_the_configuration_can_be_left_to_the_user_alone() -> None:
    printed = [
        yaml.load_all(CliRunner().invoke(main, ["manifests", *it]).stdout, yaml.CSafeLoader)
        for it in ([], ["--without-configuration"])
    ]
    every, rest = map(list, printed)
    assert [it for it in every if it["kind"] != "ContourConfiguration"] == rest
    assert len(rest) == len(every) - 1


_FILE = "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: EnvoyGateway\n"


def test_a_configuration_file_is_there_instead_of_a_configuration(tmp_path: Path) -> None:
    """Mounted where the control plane is told to look for it."""
    path = tmp_path / "eg.yaml"
    path.write_text(f"{_FILE}provider: {{type: Kubernetes, kubernetes: {{client: {{}}}}}}\n")
    result = CliRunner().invoke(main, ["manifests", "--config-path", str(path)])
    every = list(yaml.load_all(result.stdout, yaml.CSafeLoader))
    assert "ContourConfiguration" not in {it["kind"] for it in every}
    (file,) = (it for it in every if it["kind"] == "ConfigMap")
    (deployment,) = (it for it in every if it["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (mount,) = (it for it in container["volumeMounts"] if it["name"] == "configuration-file")
    (volume,) = (it for it in pod["volumes"] if it["name"] == mount["name"])
    assert volume["configMap"]["name"] == file["metadata"]["name"]
    (name,) = file["data"]
    assert file["data"][name] == path.read_text()
    assert f"--config-path={mount['mountPath']}/{name}" in container["args"]
    assert not any("--contour-config-name" in it for it in container["args"])
    roles = {it["roleRef"]["name"] for it in every if it["kind"] == "ClusterRoleBinding"}
    assert "contour-gateways" in roles
    path.write_text(f"{_FILE}provider: {{type: Kubernetes, kubernetes: {{client: {{a: b}}}}}}\n")
    result = CliRunner().invoke(main, ["manifests", "--config-path", str(path)])
    assert result.stderr.startswith(f"contour: {path}: provider.kubernetes.client: has no effect")


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        (f"{_FILE}provider: {{type: File}}\n", [], "eg.yaml: provider.type: File is served by"),
        (f"{_FILE}a: [\n", [], "eg.yaml:4: "),
        (_FILE, ["--suffix", "x"], "--suffix cannot be used with --config-path"),
        (_FILE, ["--watch-namespaces", "x"], "--watch-namespaces cannot be used with"),
        (_FILE, ["--host-ports"], "--host-ports cannot be used with --config-path"),
        (_FILE, ["--operator"], "--config-path cannot be used with --operator"),
        (_FILE, ["--without-configuration"], "--without-configuration cannot be used with --conf"),
    ],
)
def test_a_file_that_the_control_plane_would_not_take_is_refused(
    text: str, options: list[str], told: str, tmp_path: Path
) -> None:
    path = tmp_path / "eg.yaml"
    path.write_text(text)
    result = CliRunner().invoke(main, ["manifests", "--config-path", str(path), *options])
    assert (result.exit_code, told in result.stderr) == (2, True), result.output
    assert not result.stdout


def test_the_operator_outlives_a_drained_node_and_shows_its_metrics_to_few() -> None:
    printed = CliRunner().invoke(main, ["manifests", "--operator"]).stdout
    every = {it["kind"]: it for it in yaml.load_all(printed, yaml.CSafeLoader)}
    deployment, budget = every["Deployment"]["spec"], every["PodDisruptionBudget"]["spec"]
    template = deployment["template"]["metadata"]
    assert deployment["replicas"] == 2
    assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert budget["maxUnavailable"] == 1
    assert budget["selector"]["matchLabels"].items() <= template["labels"].items()
    assert template["annotations"]["prometheus.io/port"] == "8000"
    (rule,) = every["NetworkPolicy"]["spec"]["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 8000}]
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": rendering.MONITORING}}]


def test_a_rollout_without_progress_fails_within_minutes() -> None:
    (deployment,) = [
        it for it in manifests.control_plane(ControlPlane()) if it["kind"] == "Deployment"
    ]
    assert deployment["spec"]["progressDeadlineSeconds"] == 180
