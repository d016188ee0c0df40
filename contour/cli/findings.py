"""The findings of `contour analyze` as text, SARIF 2.1.0, and annotations of GitHub Actions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from contour.answers.analyzed import SEVERITIES, ShownFinding
from contour.answers.subjects import named


def text(found: Sequence[ShownFinding]) -> Iterator[str]:
    """A block for each finding, and the numbers at the end."""
    for it in found:
        yield f"{it['severity']} {it['code']}: {_whose(it)}"
        yield f"  {_message(it)}"
        if it["remedy"]:
            yield f"  -> {it['remedy']}"
    yield _summed(found)


def _summed(found: Iterable[ShownFinding]) -> str:
    numbers = Counter(it["severity"] for it in found)
    nouns = {"error": "error", "warning": "warning", "info": "note"}
    parts = [
        f"{count} {nouns[it]}{'s' if count > 1 else ''}"
        for it in SEVERITIES
        if (count := numbers[it])
    ]
    return ", ".join(parts) or "no findings"


def _whose(it: ShownFinding) -> str:
    """The object and its place."""
    place = f"{it['file']}:{it['line']}" if it["line"] else it["file"]
    subject = it["object"]
    if subject is None:
        return place
    return named(subject) + (f" ({place})" if place else "")


def _message(it: ShownFinding) -> str:
    return ": ".join(part for part in (it["field"], it["message"]) if part)


_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(found: Sequence[ShownFinding]) -> dict[str, object]:
    """One run of SARIF 2.1.0 (OASIS): a rule for each code, a result for each finding."""
    rules = {it["code"]: it for it in found}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "contour analyze",
                        "rules": [_rule(it) for _, it in sorted(rules.items())],
                    }
                },
                "results": [_result(it) for it in found],
            }
        ],
    }


def _rule(it: ShownFinding) -> dict[str, object]:
    told = it["why"] or it["remedy"] or it["code"]
    rule: dict[str, object] = {"id": it["code"], "shortDescription": {"text": told}}
    return rule | ({"help": {"text": it["remedy"]}} if it["remedy"] else {})


def _result(it: ShownFinding) -> dict[str, object]:
    place = {
        "artifactLocation": {"uri": quote(it["file"] or "stdin")},
        "region": {"startLine": it["line"] or 1},
    }
    return {
        "ruleId": it["code"],
        "level": _LEVELS[it["severity"]],
        "message": {"text": f"{_whose(it)}: {_message(it)}"},
        "locations": [{"physicalLocation": place}],
    }


def annotations(found: Iterable[ShownFinding]) -> Iterator[str]:
    """Workflow commands of GitHub Actions: `::error file=…,line=…,title=…::message`."""
    for it in found:
        command = "notice" if it["severity"] == "info" else it["severity"]
        place = [f"file={_escaped(it['file'])}", f"line={it['line'] or 1}"] if it["file"] else []
        properties = ",".join([*place, f"title={_escaped(it['code'])}"])
        remedy = f" {it['remedy']}" if it["remedy"] else ""
        told = f"{_whose(it)}: {_message(it)}.{remedy}"
        yield f"::{command} {properties}::{_data(told)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
