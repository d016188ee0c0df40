"""What containers see of Secrets, ConfigMaps, tokens and scratch space."""

import base64
import json
import tempfile
from pathlib import Path

import pytest

from tests.pods import runner, written

VOLUMES = [
    {"name": "settings", "configMap": {"name": "settings", "items": [{"key": "a", "path": "x/a"}]}},
    {"name": "keys", "secret": {"secretName": "keys", "defaultMode": 0o440}},
    {"name": "scratch", "emptyDir": {}},
    {
        "name": "about",
        "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]},
    },
]
MOUNTS = [
    {"name": "settings", "mountPath": "/settings", "readOnly": True},
    {"name": "keys", "mountPath": "/keys", "readOnly": True},
    {"name": "scratch", "mountPath": "/tmp"},
    {"name": "about", "mountPath": "/about"},
]
UNPRIVILEGED = {"runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532}


def test_a_pod_waits_for_its_volumes_and_sees_them_and_no_other_may_write(
    pods: runner.Pods, space: str
) -> None:
    script = """
        cat /settings/x/a /keys/k /about/name; echo; id -u; id -G; stat -Lc %a:%u:%g /keys/k
        touch /tmp/a && echo writable
        for it in /settings/x/b /b /usr/b; do touch $it 2>/dev/null || echo refused; done
        sleep 600
    """
    pods.cluster.create(
        written.pod(
            space, "one", script, volumes=VOLUMES, volumeMounts=MOUNTS,
            securityContext=UNPRIVILEGED,
        )
    )  # fmt: skip
    waiting = pods.until(lambda found: "no ConfigMap settings" in json.dumps(found), space)
    assert waiting[0]["status"]["phase"] == "Pending"
    pods.cluster.create(written.configuration(space, "settings", a="1 "))
    pods.cluster.create(written.configuration(space, "keys", "Secret", k="2 "))
    pods.until_ready(space, "app=one")
    pods.until_logged(space, "one", "refused\nrefused\nrefused\n")
    told = pods.logs(space, "one").splitlines()
    assert told[:5] == ["1 2 one", "65532", "65532", "440:0:65532", "writable"]


def test_a_program_is_seen_also_where_a_volume_is_above_it(pods: runner.Pods, space: str) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder, "program").write_text("echo seen; sleep 600")
        pods.add_image("below-tmp", "/bin/sh", f"{folder}/program", shows=(Path(folder),))
        volumes, mounts = [{"name": "it", "emptyDir": {}}], [{"name": "it", "mountPath": "/tmp"}]
        pods.cluster.create(
            written.pod(
                space, "one", image="below-tmp", args=[], volumes=volumes, volumeMounts=mounts
            )
        )
        pods.until_logged(space, "one", "seen\n")


def test_volumes_find_their_places_below_etc(pods: runner.Pods, space: str) -> None:
    pods.cluster.create(written.configuration(space, "settings", a="found"))
    volumes = [{"name": "it", "configMap": {"name": "settings"}}]
    mounts = [
        {"name": "it", "mountPath": "/etc/no-such-folder-of-this-machine"},
        {"name": "it", "mountPath": "/etc/passwd", "subPath": "a"},
    ]
    script = "cat /etc/no-such-folder-of-this-machine/a /etc/passwd; ls /etc/hosts; sleep 600"
    pods.cluster.create(written.pod(space, "one", script, volumes=volumes, volumeMounts=mounts))
    pods.until_logged(space, "one", "foundfound/etc/hosts\n")


def test_a_part_of_an_empty_volume_is_a_folder_in_which_anybody_may_write(
    pods: runner.Pods, space: str
) -> None:
    volumes = [{"name": "it", "emptyDir": {}}]
    mounts = [
        {"name": "it", "mountPath": "/part", "subPath": "a/b"},
        {"name": "it", "mountPath": "/all"},
    ]
    script = "id -u; echo found > /part/file; cat /all/a/b/file; sleep 600"
    pods.cluster.create(
        written.pod(
            space, "one", script, volumes=volumes, volumeMounts=mounts,
            securityContext={"runAsUser": 65532},
        )
    )  # fmt: skip
    pods.until_logged(space, "one", "65532\nfound\n")


def test_a_volume_changes_under_a_container_all_at_once(pods: runner.Pods, space: str) -> None:
    pods.cluster.create(written.configuration(space, "settings", a="1", b="1"))
    script = """
        while :; do echo $(cat /settings/a /settings/b); readlink /settings/..data >/tmp/now
        while [ "$(readlink /settings/..data)" = "$(cat /tmp/now)" ]; do sleep 0.05; done; done
    """
    volumes = [{"name": "settings", "configMap": {"name": "settings"}}]
    mounts = [{"name": "settings", "mountPath": "/settings"}]
    pods.cluster.create(written.pod(space, "one", script, volumes=volumes, volumeMounts=mounts))
    pods.until_logged(space, "one", "11\n")
    pods.cluster.apply(written.configuration(space, "settings", a="2", b="2"))
    pods.until_logged(space, "one", "22\n")
    assert set(pods.logs(space, "one").split()) == {"11", "22"}


@pytest.mark.parametrize("audience", ["", "somebody"])
def test_a_projected_token_is_the_pods_own(pods: runner.Pods, space: str, audience: str) -> None:
    token = {"path": "token", "expirationSeconds": 600}
    source = {"serviceAccountToken": token | ({"audience": audience} if audience else {})}
    volumes = [{"name": "token", "projected": {"sources": [source]}}]
    mounts = [{"name": "token", "mountPath": "/token"}]
    script = "cat /token/token; echo; sleep 600"
    pods.cluster.create(written.pod(space, "one", script, volumes=volumes, volumeMounts=mounts))
    pods.until_logged(space, "one", "\n")
    packed = pods.logs(space, "one").split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(packed + "=="))
    assert claims["sub"] == f"system:serviceaccount:{space}:default"
    assert claims["kubernetes.io"]["pod"]["name"] == "one"
    assert not audience or claims["aud"] == [audience]


def test_the_api_server_is_reached_with_the_token_that_every_pod_has(
    pods: runner.Pods, space: str
) -> None:
    script = """
        cd /var/run/secrets/kubernetes.io/serviceaccount
        curl -sS --cacert ca.crt -H "Authorization: Bearer $(cat token)" \
            https://kubernetes.default.svc/api/v1/namespaces/$(cat namespace)/pods; sleep 600
    """
    pods.cluster.create(written.pod(space, "one", script))
    pods.until_logged(space, "one", f"system:serviceaccount:{space}:default")
    assert "is forbidden" in pods.logs(space, "one")
