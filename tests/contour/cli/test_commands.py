"""What commands have in common: arguments, suggestions, completion, values that are refused."""

import json
import logging
import shutil
import subprocess

import click
import pytest
from click.testing import CliRunner, Result

from contour.cli import main
from contour.cli import run as running


def contour(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, arguments, input=stdin)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("statsu", "Did you mean 'status'?"),
        ("translat", "Did you mean 'translate'?"),
        ("frobnicate", "No such command 'frobnicate'."),
    ],
)
def test_a_command_that_is_not_there_is_told_with_the_nearest_one(typed: str, told: str) -> None:
    result = contour(typed)
    assert (result.exit_code, told in result.stderr) == (2, True), result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_completes_contour(shell: str) -> None:
    result = contour("completion", shell)
    assert result.exit_code == 0, result.output
    assert f"_CONTOUR_COMPLETE={shell}_complete" in result.stdout
    if interpreter := shutil.which(shell):
        subprocess.run([interpreter, "-n"], input=result.stdout, text=True, check=True)


@pytest.mark.parametrize("command", ["translate", "status"])
def test_manifests_are_named_by_argument_or_option(command: str) -> None:
    manifest = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
    shown = [
        contour(command, *named, "-o", "json", stdin=manifest) for named in (["-"], ["-f", "-"])
    ]
    assert [it.exit_code for it in shown] == [0, 0], shown[0].output
    assert shown[0].stdout == shown[1].stdout


def test_versions_are_read_by_programs() -> None:
    assert json.loads(contour("version", "-o", "json").stdout)["grpcio"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("manifests --namespace Bad_NS", "--namespace': 'Bad_NS'"),
        ("manifests --operator --namespace Bad_NS", "--namespace': 'Bad_NS'"),
        ("manifests --watch-namespaces a,b_c", "--watch-namespaces': 'b_c'"),
        ("serve --watch-namespaces a,b_c", "--watch-namespaces': 'b_c'"),
        ("serve --namespace a.b", "'a.b' is no name of a namespace"),
        ("serve --contour-config-name A", "'A' is no name of an object"),
        ("serve --envoy-service-name a_b", "'a_b' is no name of a Service"),
        ("serve --envoy-service-namespace a_b", "'a_b' is no name of a namespace"),
        ("serve --name-suffix -a_b", "'-a_b' is no end of a name"),
        ("serve --leader-election-resource-name=", "'' is no name of an object"),
        ("serve --leader-election-resource-namespace A", "'A' is no name of a namespace"),
        ("doctor --incluster --namespace A", "'A' is no name of a namespace"),
        (f"doctor --incluster --service-account {254 * 'a'}", "at most 253 characters"),
        ("certgen --yaml --namespace=", "'' is no name of a namespace"),
        ("certgen --yaml --secrets-name-suffix -a-", "'-a-' is no end of a name"),
        ("certgen --pem --grpc-client ../a", "'../a' is no name of a namespace"),
        ("bootstrap --grpc --xds-socket /a --namespace A", "'A' is no name of a namespace"),
        ("bootstrap --node-id a --namespace A", "'A' is no name of a namespace"),
        ("bootstrap --grpc --namespace a --server a/b", "'a/b' is no name of a Service"),
        ("explain http://a.example --sni b.example", "--sni is for https"),
        ("bootstrap --overload-max-heap 9223372036854775808", "--overload-max-heap"),
        ("bootstrap --overload-downstream-max-conn 9223372036854775808", "is not in the range"),
        ("run - --concurrency 2147483648", "is not in the range"),
        ("run - --drain-time nan", "nan is no time"),
        ("envoy shutdown --drain-timeout nan", "nan is no time"),
        ("serve --xds-streams-per-connection 2147483648", "is not in the range"),
        ("status - --controller-name contour", "'contour' is no name of a controller"),
        ("run - --controller-name A/b", "is no name of a controller"),
        ("bootstrap --xds-address a..b", "'a..b' is no IP address and no name of a host"),
        ("bootstrap --stats-port 1 --stats-address localhost", "'localhost' is no IP address"),
        ("envoy shutdown --admin-address a", "'a' is neither a path with a slash nor HOST:PORT"),
        ("envoy shutdown --admin-address a:65536", "'a:65536' is neither a path"),
        ("translate - --extension a=b:65536", "'b:65536' is neither HOST:PORT"),
        ("translate - --extension a=b:1 --extension a=b:2", "gives the same name twice"),
        ("explain a.example --sni b.example", "--sni is for https"),
        ("explain grpc://a.example/a/b --sni b.example", "--sni is for grpcs"),
        ("explain grpcs://a.example/a/b -X GET", "--request is for HTTP"),
        ("explain tcp://a.example:1 -H a:b", "--header is for requests"),
        ("explain TCP://a.example:1 --sni a", "--sni is for requests"),
        ("explain udp://a.example:1 -X PUT", "--request is for requests"),
        ("explain udp://a.example:1 --run", "--run does not go with udp"),
        ("explain http://a.example/\udcff", "it is not UTF-8"),
        ("explain http://a.example/ -H a:\udcff", "it is not UTF-8"),
        ("bootstrap --node \udcff", "it is not UTF-8"),
        ("convert --from ingress-nginx - --ingress-class \udcff", "it is not UTF-8"),
        ("envoy shutdown --admin-address \udcff", "it is not UTF-8"),
        ("certgen --yaml --incluster", "--incluster needs --kube"),
        ("certgen --pem --kubeconfig a", "--kubeconfig needs --kube"),
        ("certgen --kube a", "DIRECTORY needs --pem"),
        ("certgen --kube --incluster --kubeconfig a", "cannot be used with --incluster"),
        ("convert --from contour - --from-class a", "--from-class is for --from ingress-nginx"),
        ("convert --from contour - --without a", "--without is for --from ingress-nginx"),
        ("bootstrap --grpc --namespace a --fleet a", "--fleet is for an Envoy"),
        ("bootstrap --grpc --namespace a --node-id a", "--node-id is for an Envoy"),
        ("bootstrap --grpc --namespace a --stats-port 8002", "--stats-port is for an Envoy"),
        ("bootstrap --node-id a --node b", "--node cannot be used with --node-id"),
        ("bootstrap --node-id a --fleet b", "--fleet cannot be used with --node-id"),
        ("bootstrap --no-stats", "--no-stats needs --stats-port"),
        ("bootstrap --stats-address ::", "--stats-address needs --stats-port"),
        ("manifests --watch-namespaces ,", "it names no namespace"),
        ("serve --watch-namespaces ,", "it names no namespace"),
        ("doctor --incluster --watch-namespaces ,", "it names no namespace"),
        ("manifests --suffix _x", "--suffix"),
        (f"manifests --suffix -{30 * 'x'}", "at most 30 characters"),
        ("manifests --image=", "--image: ''"),
        ("manifests --envoy-image=-", "--envoy-image: '-'"),
        ("manifests --outer-class", "--outer-class needs --managed"),
        ("manifests --managed --host-ports", "--host-ports cannot be used with --managed"),
        (
            "manifests --managed --outer-class --watch-namespaces a",
            "--outer-class cannot be used with --watch-namespaces",
        ),
        (
            "manifests --gateway-fleets --watch-namespaces a",
            "--gateway-fleets cannot be used with --watch-namespaces",
        ),
        ("run x --map-port 80=9000 --map-port 80=9001", "port 80 is mapped twice"),
        ("translate", "name the manifests"),
        ("translate x -o table", "--to routes"),
        ("status x --kubeconfig y", "with manifests nobody is asked: leave out --kubeconfig"),
        ("analyze -f x -n y", "leave out --namespace"),
        ("explain http://a -f x --state-dir y", "leave out --state-dir"),
        ("diff -f x --against y --cluster", "leave out --cluster"),
        ("run ", "'PATH…': it is empty; write . for the current folder"),
        ("status ", "'[PATH]...': it is empty"),
        ("status https://a.example/b.yaml", "https://a.example/b.yaml is a URL: fetch it"),
        ("translate --filename=", "'--filename': it is empty"),
        ("convert --from ingress-nginx --filename=", "'--filename': it is empty"),
        ("explain http://a --filename=", "'--filename': it is empty"),
        ("diff -f x --against=", "'--against': it is empty"),
        ("diff -f - --against -", "standard input can be read only once"),
        ("status --lenient", "--lenient is for manifests"),
        ("status --controller-name a/b", "--controller-name is for manifests"),
        ("analyze --controller-name a/b", "--controller-name is for manifests"),
        ("explain http://a --connect-to b:1", "--connect-to needs --run"),
        ("completion tcsh", "tcsh"),
    ],
)
def test_values_that_cannot_work_are_refused(arguments: str, told: str) -> None:
    result = contour(*arguments.split(" "))
    assert (result.exit_code, told in result.stderr) == (2, True), result.output


def test_verbose_shows_our_own_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    before = {it: logging.getLogger(it).level for it in running.OURS}
    try:
        running.log_to_stderr(verbose=True)
        assert logging.getLogger("contour.xds.fleet").isEnabledFor(logging.DEBUG)
        assert not logging.getLogger("asyncio").isEnabledFor(logging.DEBUG)
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def test_every_command_of_the_list_is_there() -> None:
    context = click.Context(main)
    assert all(main.get_command(context, it) for it in main.list_commands(context))
