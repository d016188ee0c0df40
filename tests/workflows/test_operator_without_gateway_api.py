"""Workflow 2: the operator as the README installs it, where nobody has heard of the Gateway API."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.cluster import assets
from tests.workflows import expectations
from tests.workflows.instances import Instance, backed
from tests.workflows.site import Site


def test_the_readme_installs_an_instance(bare_site: Site) -> None:
    site = bare_site
    follow_readme(site)
    backed(site, gateway=False)
    instance = Instance(site, "ingress", site.pods.address("ingress", "envoy"))
    instance.require_available(contours=2, envoys=2)
    expectations.serves_routes(site, instance.address, gateway=False)
    expectations.tells_addresses(site, instance.address)
    _becomes_a_deployment(instance)


def _becomes_a_deployment(instance: Instance) -> None:
    """The other workload serves before the first one goes; the address stays."""
    site = instance.site
    instance.configure({"envoy": {"workload": {"type": "Deployment", "replicas": 1}}})
    answers = set()

    def is_there() -> bool:
        answers.add(site.ask(instance.address, "shop.example.com"))
        return bool(site.get("deployment", instance.namespace, "envoy")) and not site.get(
            "daemonset", instance.namespace, "envoy"
        )

    site.until(is_there, bool)
    assert answers == {expectations.CART}
    instance.require_available(contours=2, envoys=1)


def follow_readme(site: Site) -> None:
    """Its block of commands for the operator, letter by letter."""
    readme = (assets.ROOT / "README.md").read_text()
    block = next(it for it in re.findall(r"```sh\n(.*?)```", readme, re.S) if "operator.yaml" in it)
    programs, home = Path(sys.executable).parent, str(site.cluster.folder)
    path = f"{programs}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=assets.ROOT, capture_output=True, text=True, check=False,
        env={"PATH": path, "HOME": home, "KUBECONFIG": str(site.cluster.admin)},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{site.story()}"
