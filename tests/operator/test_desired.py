"""What an instance consists of, by its configuration."""

from typing import Any

import pytest

from contour_operator import desired, issuing
from contour_operator.desired import Release
from crds import decode
from provisioning.keeping import objects, ownership
from provisioning.keeping.ownership import Owner

Raw = dict[str, Any]


def children(spec: Raw, name: str = "contour", namespace: str = "ingress") -> dict[str, Raw]:
    """By kind and name."""
    raw = {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
    found = decode.decode(raw)
    assert isinstance(found, decode.Decoded)
    assert found.object is not None, found.errors
    made = desired.children(found.object, Release("registry.example.com:5000/contour:1.2"))
    return {objects.described(it): it for it in made}


def test_every_child_carries_the_mark_and_so_do_the_certificates() -> None:
    owner = Owner("ingress", "contour")
    every = [*children({"contour": {}}).values(), *issuing.documents(owner)]
    assert len(every) == 12
    assert all(desired.ownership(owner).owns(it) for it in every)


def test_the_deployment_is_what_the_configuration_says() -> None:
    contour = {
        "replicas": 5,
        "logLevel": "debug",
        "resources": {"requests": {"cpu": "2"}},
        "podAnnotations": {"example.com/a": "b"},
        "placement": {"nodeSelector": {"a": "b"}},
    }
    deployment = children({"contour": contour}, "mine")["Deployment ingress/contour"]
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert deployment["spec"]["replicas"] == 5
    assert container["image"] == "registry.example.com:5000/contour:1.2"
    assert "--contour-config-name=mine" in container["args"]
    assert "--log-level=debug" in container["args"]
    assert container["resources"] == {"requests": {"cpu": "2"}}
    assert template["metadata"]["annotations"]["example.com/a"] == "b"
    assert template["spec"]["nodeSelector"] == {"a": "b"}


def _extension(name: str, **more: Any) -> Raw:
    service = {"unix": f"/run/extensions/{name}.sock"}
    return {"name": name, "hooks": {"post": ["VirtualHost"]}, "service": service, **more}


def test_a_sidecar_shares_a_folder_with_the_control_plane_and_not_its_token() -> None:
    sidecar = {
        "image": "registry.example.com/tags:1",
        "args": ["--listen", "unix:/run/extensions/tags.sock"],
        "env": {"LEVEL": "{{ this }}"},
    }
    extensions = [_extension("other"), _extension("tags", sidecar=sidecar)]
    found = children({"contour": {}, "extensions": extensions})
    deployment = found["Deployment ingress/contour"]["spec"]
    assert deployment["minReadySeconds"] == 15, "one that crashes replaces nothing"
    pod = deployment["template"]["spec"]
    contour, tags = pod["containers"]
    assert (tags["name"], tags["image"]) == ("extension-tags", sidecar["image"])
    assert (tags["args"], tags["env"]) == (
        sidecar["args"],
        [{"name": "LEVEL", "value": "{{ this }}"}],
    )
    assert tags["securityContext"] == contour["securityContext"]
    assert tags["resources"]["limits"] == {"memory": "256Mi"}
    mounts = {it["mountPath"]: it["name"] for it in tags["volumeMounts"]}
    assert mounts.keys() == {
        "/run/extensions", "/tmp", "/var/run/secrets/kubernetes.io/serviceaccount"
    }  # fmt: skip
    volumes = {it["name"]: it for it in pod["volumes"]}
    assert all("emptyDir" in volumes[it] for it in mounts.values())
    shared = {"name": "extensions", "mountPath": "/run/extensions", "readOnly": True}
    assert shared in contour["volumeMounts"]
    ours = {it["mountPath"]: it["name"] for it in contour["volumeMounts"]}
    assert ours.keys() & mounts.keys() == {"/run/extensions", "/tmp"}
    assert ours["/tmp"] != mounts["/tmp"]


def test_without_sidecars_pods_are_as_they_were() -> None:
    plain, more = (
        children({"contour": {}, "extensions": it})["Deployment ingress/contour"]["spec"]
        for it in ([], [_extension("tags")])
    )
    assert plain == more
    assert "minReadySeconds" not in plain
    assert len(plain["template"]["spec"]["containers"]) == 1


def test_rights_are_bound_and_never_made_but_for_what_is_at_home() -> None:
    for watched in ([], ["a", "ingress"]):
        found = children({"contour": {"watchNamespaces": watched}})
        roles = [it for it in found.values() if it["kind"] == "Role"]
        assert [it["metadata"]["namespace"] for it in roles] == ["ingress"]
        groups = {group for it in roles for rule in it["rules"] for group in rule["apiGroups"]}
        groups -= {"coordination.k8s.io", "", "apps", "autoscaling", "policy"}
        served = {"networking.k8s.io", "gateway.networking.k8s.io"}
        assert groups == served | {"discovery.k8s.io"}  # who counts for RateLimitFilters
        bindings = {
            it["metadata"].get("namespace", "everywhere")
            for it in found.values()
            if it["kind"].endswith("Binding") and it["roleRef"]["kind"] == "ClusterRole"
        }
        assert bindings == ({"ingress", "a"} if watched else {"everywhere"})


@pytest.mark.parametrize("watched", [[], ["a"]])
def test_rights_in_the_namespaces_of_gateways_are_bound_only_if_these_have_fleets(
    watched: list[str],
) -> None:
    for mode, roles in {
        "Single": {"contour", "contour-added"},
        "PerGateway": {"contour", "contour-added", "contour-gateways"},
    }.items():
        found = children({"contour": {"watchNamespaces": watched}, "gateway": {"mode": mode}})
        bound = {
            it["roleRef"]["name"]
            for it in found.values()
            if it["kind"].endswith("Binding") and it["roleRef"]["kind"] == "ClusterRole"
        }
        assert bound == roles


@pytest.mark.parametrize("watched", [[], ["a"]])
@pytest.mark.parametrize(
    ("gateway", "is_bound"),
    [
        (None, False),
        ({"gatewayClassName": "theirs"}, False),
        ({"controllerName": "example.com/balancer"}, True),
    ],
)
def test_the_right_to_make_a_class_is_bound_only_if_one_is_asked_for(
    gateway: dict[str, Any] | None, is_bound: bool, watched: list[str]
) -> None:
    publishing = {"type": "ClusterIPService", "gateway": gateway}
    spec = {
        "contour": {"watchNamespaces": watched},
        "envoy": {"networkPublishing": {key: it for key, it in publishing.items() if it}},
    }
    found = [it["kind"] for it in children(spec).values() if _binds_classes(it)]
    assert found == ["ClusterRoleBinding"] * is_bound


def test_bindings_of_two_instances_never_have_one_name() -> None:
    """Whatever namespaces are called: `prod` and `gateways-prod`, for instance."""
    everything = {
        "contour": {},
        "gateway": {"mode": "PerGateway"},
        "envoy": {
            "networkPublishing": {
                "type": "ClusterIPService",
                "gateway": {"controllerName": "example.com/balancer"},
            }
        },
    }
    names = _cluster_wide(everything, "prod")
    assert len(names) == 4
    for purpose in ("added", "gateways", "outer-classes"):
        assert not names & _cluster_wide(everything, f"{purpose}-prod")


def _cluster_wide(spec: dict[str, Any], namespace: str) -> set[str]:
    """The names of an instance's ClusterRoleBindings."""
    found = children(spec, namespace=namespace)
    return {it["metadata"]["name"] for it in found.values() if it["kind"] == "ClusterRoleBinding"}


def _binds_classes(document: dict[str, Any]) -> bool:
    role = document.get("roleRef")
    return role is not None and role["name"] == "contour-outer-classes"


@pytest.mark.parametrize(
    ("spec", "is_managed"),
    [
        ({}, False),
        ({"envoy": {}}, False),
        ({"envoy": {"networkPublishing": {"type": "ClusterIPService"}}}, True),
        ({"envoy": {"networkPublishing": {}, "managed": True}}, True),
        ({"envoy": {"networkPublishing": {}, "managed": False}}, False),
        ({"envoy": "nonsense"}, False),
    ],
)
def test_a_fleet_is_managed_where_it_is_published_and_not_let_go(
    spec: Raw, is_managed: bool
) -> None:
    assert desired.is_managed({"spec": spec}) is is_managed


def test_names_that_no_label_can_hold_are_told_apart_all_the_same() -> None:
    one, two = (Owner("ingress", "x" * 100 + it).labels for it in "ab")
    assert one != two
    assert all(len(it) <= 63 for it in (*one.values(), *two.values()))
    assert Owner("ingress", "short").labels[ownership.NAME] == "short"
