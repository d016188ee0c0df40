"""Ways to an API server: which is taken, and what of it is noticed when it changes on disk."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kube import access
from kube.credentials import AccessError
from kube.kubeconfig import Kubeconfig
from kube.pod import Pod
from tests.testbed import certificates

IN_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """A service account's folder as the kubelet mounts it: links into a folder that is swapped."""
    mount(tmp_path, "first")
    for name in ("token", "ca.crt", "namespace"):
        (tmp_path / name).symlink_to(Path("..data", name))
    return tmp_path


def mount(folder: Path, token: str) -> None:
    behind = folder / f"..{token}"
    behind.mkdir()
    (behind / "token").write_text(token)
    (behind / "ca.crt").write_bytes(certificates.authority().pem)
    (behind / "namespace").write_text("projectcontour")
    (folder / "..swap").symlink_to(behind.name)
    os.replace(folder / "..swap", folder / "..data")


async def test_a_pod_shows_the_token_that_is_mounted_now(mounted: Path) -> None:
    pod = Pod(IN_POD, mounted)
    first = await pod.credentials()
    assert first.url == "https://10.0.0.1:6443"
    assert first.authorization == "Bearer first"
    assert first.namespace == "projectcontour"
    assert await pod.credentials() is first
    mount(mounted, "second")
    second = await pod.credentials()
    assert second.authorization == "Bearer second"
    assert second.tls is not first.tls
    assert await pod.credentials(refused=first) is second
    assert await pod.credentials(refused=second) is not second


async def test_an_address_of_version_6_is_put_in_brackets(mounted: Path) -> None:
    pod = Pod({"KUBERNETES_SERVICE_HOST": "fd00::1"}, mounted)
    assert (await pod.credentials()).url == "https://[fd00::1]:443"


async def test_a_pod_whose_account_is_broken_says_so(mounted: Path) -> None:
    (mounted / "..first" / "ca.crt").write_text("no certificate")
    with pytest.raises(AccessError, match=str(mounted)):
        await Pod(IN_POD, mounted).credentials()


def config(**user: Any) -> dict[str, Any]:
    cluster = {"server": "http://192.0.2.1:8080/"}
    there = {"cluster": "c", "user": "u", "namespace": "there"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u"}},
            {"name": "there", "context": there},
        ],
        "current-context": "here",
    }


def written(path: Path, content: object) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


async def test_a_kubeconfig_tells_where_and_who(tmp_path: Path) -> None:
    path = written(tmp_path / "config", config(token="secret"))
    found = await Kubeconfig(str(path)).credentials()
    assert found == ("http://192.0.2.1:8080", "Bearer secret", None, None, None, "default")
    assert (await Kubeconfig(str(path), "there").credentials()).namespace == "there"


async def test_a_kubeconfig_is_read_again_only_if_what_it_gave_is_refused(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    path = written(tmp_path / "config", config(tokenFile=str(token)))
    kubeconfig = Kubeconfig(str(path))
    old = await kubeconfig.credentials()
    token.write_text("new")
    assert await kubeconfig.credentials() is old
    new = await kubeconfig.credentials(refused=old)
    assert new.authorization == "Bearer new"
    assert await kubeconfig.credentials(refused=old) is new


async def test_client_certificates_leave_no_key_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import base64  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    made = certificates.authority()
    certificate, key = (base64.b64encode(it).decode() for it in (made.pem, made.key_pem))
    content = config(**{"client-certificate-data": certificate, "client-key-data": key})
    content["clusters"][0]["cluster"] = {
        "server": "https://192.0.2.1",
        "certificate-authority-data": certificate,
        "tls-server-name": "inside",
    }
    path = written(tmp_path / "config", content)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    kubeconfig = Kubeconfig(str(path))
    found = await kubeconfig.credentials()
    assert found.tls is not None
    assert len(found.tls.get_ca_certs()) == 1
    assert found.server_name == "inside"
    assert list(scratch.iterdir()) == []
    assert (await kubeconfig.credentials(refused=found)).tls is not None


def plugin(path: Path, script: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{script}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def by_plugin(path: Path) -> dict[str, Any]:
    version = "client.authentication.k8s.io/v1"
    return config(exec={"apiVersion": version, "command": str(path), "interactiveMode": "Never"})


async def test_a_plugin_gives_credentials_and_again_when_they_expire(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    script = f"""
import json
with open({str(runs)!r}, "a+") as runs:
    runs.write("x")
    token = f"token {{runs.tell()}}"
status = {{"token": token, "expirationTimestamp": "2000-01-01T00:00:00Z"}}
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                  "status": status}}))
"""
    path = written(tmp_path / "config", by_plugin(plugin(tmp_path / "plugin", script)))
    kubeconfig = Kubeconfig(str(path))
    assert (await kubeconfig.credentials()).authorization == "Bearer token 1"
    assert (await kubeconfig.credentials()).authorization == "Bearer token 2"


async def test_a_plugin_that_fails_is_named(tmp_path: Path) -> None:
    failing = plugin(tmp_path / "plugin", "raise SystemExit(1)")
    path = written(tmp_path / "config", by_plugin(failing))
    with pytest.raises(AccessError, match=f"{failing}.*gave no credentials"):
        await Kubeconfig(str(path)).credentials()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "kind: Config",
        "current-context: nowhere\ncontexts: []\nclusters: []\nusers: []\n",
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: []",
    ],
)
async def test_a_file_that_is_no_kubeconfig_is_one_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(AccessError, match=f"^kubeconfig {path}: ."):
        await Kubeconfig(str(path)).credentials()


async def test_a_context_or_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "config", config(token="secret"))
    with pytest.raises(AccessError, match="nowhere"):
        await Kubeconfig(str(path), "nowhere").credentials()
    with pytest.raises(AccessError, match="missing: no such file"):
        await Kubeconfig(str(tmp_path / "missing")).credentials()


def test_which_way_is_taken(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match=r"not in a pod.*\.kube/config"):
        access.found(environ={"HOME": str(tmp_path)})
    (tmp_path / ".kube").mkdir()
    written(tmp_path / ".kube" / "config", config())
    for environ in ({}, {"KUBECONFIG": "elsewhere"}):
        found = access.found(environ={"HOME": str(tmp_path), **environ})
        assert isinstance(found, Kubeconfig)


def test_who_runs_in_a_pod_imports_no_kubernetes_client() -> None:
    program = (
        "import sys, kube.access, kube.client, kube.reflector; "
        "kube.access.Pod({}); print('kubernetes' in sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout == "False\n"
