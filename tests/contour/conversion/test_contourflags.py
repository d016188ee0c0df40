"""Options of upstream Contour's `serve` are accepted, or their error says what to do instead."""

import re

import pytest
from click.testing import CliRunner

from contour.cli.serve import serve
from contour.conversion import contourflags
from tests.contour.files.test_upstream import fields

# Contour 1.33, `contour serve --help`.
_UPSTREAM = """
--config-path --contour-config-name --incluster --kubeconfig --kubernetes-client-qps
--kubernetes-client-burst --debug --kubernetes-debug --xds-address --xds-port --contour-cafile
--contour-cert-file --contour-key-file --insecure --http-address --http-port --health-address
--health-port --debug-http-address --debug-http-port --envoy-service-http-address
--envoy-service-http-port --envoy-service-https-address --envoy-service-https-port
--envoy-http-access-log --envoy-https-access-log --accesslog-format --stats-address --stats-port
--use-proxy-protocol --ingress-class-name --root-namespaces --watch-namespaces --disable-feature
--ingress-status-address --envoy-service-name --envoy-service-namespace --disable-leader-election
--leader-election-lease-duration --leader-election-renew-deadline --leader-election-retry-period
--leader-election-resource-name --leader-election-resource-namespace
"""


@pytest.mark.parametrize("option", _UPSTREAM.split())
def test_an_option_of_upstream_is_known(option: str) -> None:
    ours = {name for it in serve.params for name in it.opts}
    if option in ours:
        assert contourflags.replacement(option) is None
        return
    done = CliRunner().invoke(serve, [f"{option}=1"])
    assert done.exit_code == 2
    assert re.search(rf"^Error: {option} is an option of upstream Contour", done.stderr, re.M)


@pytest.mark.parametrize("field", sorted({*contourflags.FIELDS.values()} - {""}))
def test_the_field_exists(field: str) -> None:
    assert field in fields()


def test_what_nobody_has_is_told_as_ever() -> None:
    done = CliRunner().invoke(serve, ["--log-formt=json"])
    assert "No such option '--log-formt'. Did you mean '--log-format'?" in done.stderr
