"""The wheel, installed outside the checkout, runs: templates and CRDs are inside it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_installed_wheel_runs_outside_the_checkout(tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    subprocess.run([*pip, "wheel", "--no-deps", "-w", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("contour_ingress-*.whl")
    site = tmp_path / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", site, wheel], check=True)
    program = (
        "import contour, crds, dag, contour_operator, importlib.resources as r;"
        "print(contour.__file__);"
        "print(sorted(it.name for it in r.files('crds').joinpath('schema').iterdir()));"
        "from contour.cli import main; main(['manifests'])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env={"PYTHONPATH": str(site)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.startswith(str(site))
    assert "projectcontour.io_httpproxies.yaml" in found.stdout
    assert "kind: DaemonSet" in found.stdout
