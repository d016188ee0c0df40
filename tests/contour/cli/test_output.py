"""What machines read: the same in both formats."""

import json

import pytest
import yaml
from click.testing import CliRunner

from contour.cli import main

MANIFEST = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: good}
spec:
  virtualhost: {fqdn: good.example.com}
  routes:
  - directResponsePolicy: {statusCode: 200}
"""


@pytest.mark.parametrize("to", ["xds", "dag", "fleets"])
def test_yaml_says_what_json_says(to: str) -> None:
    told = {}
    for format_ in ("yaml", "json"):
        result = CliRunner().invoke(
            main, ["translate", "-f", "-", "--to", to, "-o", format_], input=MANIFEST
        )
        assert result.exit_code == 0, result.output
        told[format_] = result.stdout
    assert yaml.safe_load(told["yaml"]) == json.loads(told["json"])
