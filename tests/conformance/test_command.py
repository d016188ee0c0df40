"""How the suite is asked and listened to."""

import io
from pathlib import Path

import pytest

from tests.conformance import __main__ as program
from tests.conformance import command, programs, report

OUTPUT = """\
=== RUN   TestConformance/HTTPRouteCORS
    conformance.go:77: 2026-11-21T09:58:46Z: Running HTTPRouteCORS, relying on the following
=== RUN   TestConformance/MeshBasic
    conformance.go:55: 2026-11-21T09:58:46Z: Skipping MeshBasic: it needs Mesh
--- FAIL: TestConformance (129.55s)
    --- FAIL: TestConformance/HTTPRouteCORS (0.26s)
        --- PASS: TestConformance/HTTPRouteCORS/Simple_request (0.00s)
    --- SKIP: TestConformance/MeshBasic (0.00s)
"""


def test_a_whole_run_writes_a_report_and_takes_its_features_from_the_class() -> None:
    asked = command.arguments(command.Wish(report=Path("report.yaml"), minutes=5))
    assert "-report-output=report.yaml" in asked
    assert "-test.timeout=5m" in asked
    assert f"-gateway-class={command.GATEWAY_CLASS}" in asked
    assert {f"-{it}={value}" for it, value in command.IMPLEMENTATION.items()} <= set(asked)
    names = {it.split("=")[0] for it in asked}
    assert not names & {"-supported-features", "-exempt-features", "-skip-tests", "-run-test"}


def test_a_run_of_some_tests_writes_no_report() -> None:
    asked = command.arguments(command.Wish(tests=("A", "B"), report=Path("report.yaml")))
    assert "-test.run=^TestConformance$/^(A|B)$" in asked
    assert not [it for it in asked if "report" in it]


def test_consistency_is_never_waited_for_longer_than_the_suite_permits() -> None:
    assert "MaxTimeToConsistency" not in command.PATIENCE


def test_time_limits_are_written_as_the_suite_reads_them() -> None:
    (asked,) = (it for it in command.arguments(command.Wish()) if "timeout-config" in it)
    limits = asked.partition("=")[2].split(";")
    assert limits == ["NamespacesMustBeReady:600", "DefaultTestTimeout:120", "DeleteTimeout:420"]


def test_a_run_of_no_test_is_told_from_one_in_which_all_passed() -> None:
    skipped = "    --- SKIP: TestConformance/MeshBasic (0.00s)\n"
    passed = "    --- PASS: TestConformance/HTTPRouteCORS (0.26s)\n"
    assert not program._tell(io.StringIO(f"panic: no such file\n{skipped}"), io.StringIO()).ran
    assert program._tell(io.StringIO(skipped + passed), io.StringIO()).ran


def test_a_run_whose_tidy_up_fails_is_one_in_which_tests_were_run() -> None:
    begun = OUTPUT.splitlines(keepends=True)[:4]
    heard = program._tell(io.StringIO("".join([*begun, "FAIL\n"])), io.StringIO())
    assert heard.ran
    assert not heard.verdicts
    assert "1 tests were run" in program._why(heard)


def test_verdicts_are_those_of_tests_and_not_of_their_parts() -> None:
    lines = OUTPUT.splitlines()
    assert dict(command.verdicts(lines)) == {"HTTPRouteCORS": "FAIL", "MeshBasic": "SKIP"}
    assert [it for line in lines if (it := command.started(line))] == ["HTTPRouteCORS"]


@pytest.mark.parametrize(
    "wrong", [["--channel", "alpha"], ["--profile", "MESH"], ["--release", "v1.5.0"]]
)
def test_what_the_suite_does_not_know_is_refused(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        program.parser().parse_args(wrong)
    assert "invalid choice" in capsys.readouterr().err


def test_the_documents_have_the_last_reports() -> None:
    text = report.FOLDER.with_suffix(".md").read_text()
    found = sorted(report.FOLDER.glob("*/*.yaml"))
    assert len(found) == len(program.CHANNELS) * len(list(report.FOLDER.iterdir())) > 0
    for path in found:
        it = report.read(path)
        assert path.name == report.name(it)
        assert path.parent.name == it["gatewayAPIVersion"] in programs.RELEASES
        assert report.table(it) in text
        assert f"{it['gatewayAPIChannel']} channel, {str(it['date'])[:10]}" in text
