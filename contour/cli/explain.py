"""`contour explain`: which objects serve a request, which do not, and why."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import click

from contour.answers.subjects import named
from contour.cli import options, output, running, source

if TYPE_CHECKING:
    from contour.answers.explained import Explained, ShownBackend, ShownProblem, ShownStep
    from contour.cli.sending import Address, Sent
    from dag.evaluation.requests import Request

_LINES = 3
"""Routes that do not match and are told without --all: the last ones, which are the nearest."""
_MARKS = {"passed": "ok", "failed": "no", "noted": "--"}


@click.command()
@click.argument("url", metavar="URL")
@click.option(
    "-X", "--request", "method", default="GET", show_default=True, metavar="METHOD",
    help="Method of the request.",
)  # fmt: skip
@click.option(
    "-H", "--header", "headers", multiple=True, metavar="NAME:VALUE",
    show_default="only the host",
    help="Header of the request, such as `Host: shop.example.com`. Can be given several times.",
)  # fmt: skip
@click.option(
    "--sni", metavar="NAME", show_default="the host of the URL",
    help="Server name that the TLS client asks for; empty for none.",
)  # fmt: skip
@click.option(
    "--from", "client", default="127.0.0.1", show_default=True, metavar="IP",
    help="Address of the client.",
)  # fmt: skip
@click.option(
    "-f", "--filename", "paths", multiple=True, metavar="PATH", type=options.ManifestPath(),
    show_default="ask the running `contour run`, or an instance in a cluster",
    help="Manifests to evaluate offline: a file, a folder (recursive), or - for standard input. "
    "Can be given several times.",
)  # fmt: skip
@source.options
@click.option(
    "--fleet", show_default="contour",
    help="Fleet of Envoys that gets the request. `contour translate --to fleets` lists the names.",
)  # fmt: skip
@click.option(
    "-o", "--output", "format_", type=click.Choice(["text", "json", "yaml"]), default="text",
    show_default=True, help="Output format: text for people, JSON or YAML for programs.",
)  # fmt: skip
@click.option("--http3", is_flag=True, help="The request comes over HTTP/3.")
@click.option("--all", "every", is_flag=True, help="Show every route that was tried.")
@click.option(
    "--run", "is_sent", is_flag=True,
    help="Send the request, too, and say whether the answer is the one that is evaluated. It is "
    "sent over HTTP/1.1, without a body, and the certificate of Envoy is not verified.",
)  # fmt: skip
@click.option(
    "--connect-to", "address", metavar="HOST:PORT",
    show_default="the listener on this machine, if there is one, or the host of the URL",
    help="Where --run sends the request.",
)  # fmt: skip
def explain(
    url: str,
    method: str,
    headers: tuple[str, ...],
    sni: str | None,
    client: str,
    paths: tuple[str, ...],
    fleet: str | None,
    format_: Literal["text", "json", "yaml"],
    http3: bool,
    every: bool,
    is_sent: bool,
    address: str | None,
) -> None:
    """Says which objects serve a request, which do not, and why.

    URL is what a client would ask for, such as https://shop.example.com/cart?item=1. Without --run
    no request is sent: the answer is evaluated from the configuration, as Envoy would read it. Exit
    code 1 means that the answer to --run is another one, 2 that the request makes no sense, that
    there is no such fleet, that a file or document cannot be read (nothing is sent then), or that
    nobody could be asked.
    """
    from contour.answers import explained
    from dag.fleetnames import DEFAULT_FLEET

    _refuse_without_effect(url)
    request = _request(url, method, headers, sni, client, http3=http3)
    _refuse_contradictions(paths, address, is_sent=is_sent, http3=http3)
    is_here = is_unreadable = False
    asked = DEFAULT_FLEET if fleet is None else fleet
    if paths:
        found, is_unreadable = _offline(paths, asked, request)
    else:
        found, is_here = running.explained(explained.written(asked, request))
    if "fleets" in found:
        raise _no_fleet(asked, found["fleets"], is_given=fleet is not None)
    sent = (
        _sent(found, request, address, is_here=is_here) if is_sent and not is_unreadable else None
    )
    if format_ == "text":
        output.say(*_lines(found, every=every))
        if sent is not None:
            output.say(f"\nsent to {sent['to']}: {sent['text']}")
    else:
        output.document(found if sent is None else {**found, "sent": sent}, format_)
    if is_unreadable:
        sys.exit(2)
    sys.exit(0 if sent is None or sent["agrees"] else 1)


def _refuse_contradictions(
    paths: tuple[str, ...], address: str | None, *, is_sent: bool, http3: bool
) -> None:
    if is_sent and http3:
        raise click.UsageError("--run sends over HTTP/1.1: it does not go with --http3")
    if is_sent and paths and address is None:
        raise click.UsageError("manifests serve nobody: with -f, --run needs --connect-to")
    if address is not None and not is_sent:
        raise click.UsageError("--connect-to needs --run")
    source.refuse_contradictions(paths)


_WITHOUT_EFFECT = {
    "http": (("sni",), "is for https: without TLS no server name is asked for"),
    "grpc": (("sni",), "is for grpcs: without TLS no server name is asked for"),
    "tcp": (("method", "headers", "sni", "http3"), "is for requests: tcp:// has none"),
    "udp": (("method", "headers", "sni", "http3"), "is for requests: udp:// has none"),
}
"""The parameters that say nothing of a URL with this scheme, and why."""


def _refuse_without_effect(url: str) -> None:
    scheme, colon, _ = url.partition("://")
    options.refuse(*_WITHOUT_EFFECT.get(scheme.lower() if colon else "http", ((), "")))
    if scheme.lower() == "udp":
        why = "does not go with udp://: no answer says what became of a packet"
        options.refuse(("is_sent", "address"), why)
    if scheme.lower() in ("grpc", "grpcs"):
        options.refuse(("method",), "is for HTTP: all calls of gRPC are POST")


def _no_fleet(name: str, there: list[str], *, is_given: bool) -> click.UsageError:
    if is_given:
        return options.no_fleet(name, there)
    return click.UsageError(options.no_shared_fleet(name, there))


def _sent(found: "Explained", request: "Request", address: str | None, *, is_here: bool) -> "Sent":
    """What comes back; raises UsageError where the request cannot be sent."""
    from contour.cli import sending

    to: Address
    try:
        if address is None and is_here and "listener" in found:
            to = sending.local(found["listener"])
        else:
            to = sending.address(address or f"{request.name}:{request.port}")
        return sending.sent(found, request, to)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _request(
    url: str,
    method: str,
    headers: tuple[str, ...],
    sni: str | None,
    client: str,
    *,
    http3: bool,
) -> "Request":
    """The request; raises UsageError where there can be none."""
    from dag.evaluation import written

    try:
        return written.request(url, method, headers, sni, client, http3=http3)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _offline(paths: tuple[str, ...], fleet: str, request: "Request") -> "tuple[Explained, bool]":
    """The answer by manifests, and whether there is a file or document that cannot be read."""
    from contour.cli import manifestinput
    from contour.inspection.explaining import Explainer

    found = manifestinput.read(paths, lenient=False, translates=True)
    for it in found.complaints:
        output.say(it, err=True)
    controller = found.controller
    explainer = Explainer(controller.engine, controller.board, found.locate)
    return explainer.explained(fleet, request), found.is_unreadable


def _lines(found: "Explained", *, every: bool) -> Iterator[str]:
    """The outcome with its cause first, then what is wrong, then every step.

    A single error is in the first line, too, or a single warning where there is no error; of
    several it is not known which one is the cause. Those of other rules than the one that takes the
    request are none.
    """
    problems = list(_problems(found))
    errors = [it for it in problems if it["severity"] == "error"]
    candidates = [it for it in errors or problems if not it.get("elsewhere")]
    cause = candidates if len(candidates) == 1 else []
    yield ": ".join((_answered(found), *map(_problem, cause)))
    yield f"  {found['method']} {found['url']}" if found["method"] else f"  {found['url']}"
    yield from (f"  {_problem(it)}" for it in problems if it not in cause)
    yield ""
    yield from _steps(found["steps"], every=every)
    is_udp = found["url"].startswith("udp:")
    for it in found["backends"]:
        yield f"  -- backend      {_backend(it, 'dropped' if is_udp else 'closed')}"


def _problems(found: "Explained") -> "Iterator[ShownProblem]":
    """What is told of the objects; where all is well, only what others are told of the host."""
    answer = found["answer"]
    is_well = answer["status"] < 400 if answer["status"] is not None else bool(found["backends"])
    is_secure = found["url"].startswith("https:")
    for it in found["problems"]:
        concerns_others = it["object"] != answer.get("object")
        concerns_tls = is_secure and ".tls" in it["field"]
        if not is_well or ((concerns_others or concerns_tls) and it["severity"] != "info"):
            yield it


def _problem(told: "ShownProblem") -> str:
    place = f" ({told['file']}:{told['line']})" if told["file"] else ""
    return f"{named(told['object'])}: {told['text']}{place}"


def _answered(found: "Explained") -> str:
    answer = found["answer"]
    cause = f": {answer['cause']}" if answer["cause"] else ""
    if answer["status"] is not None:
        to = f" to {answer['location']}" if "location" in answer else ""
        return f"answered {answer['status']}{to} by Envoy{cause}"
    if not found["backends"]:
        return f"no answer{cause}"
    names = ", ".join(dict.fromkeys(map(_named, found["backends"])))
    if answer.get("stream"):
        return f"forwarded to {names}{cause}"
    unless = ", unless a guard refuses it" if answer.get("mayBeRefused") else ""
    return f"answered by {names}{unless}"


def _steps(steps: "list[ShownStep]", *, every: bool) -> Iterator[str]:
    """One line a step; of the routes that do not match only the last."""
    failed = [it for it in steps if (it["topic"], it["outcome"]) == ("route", "failed")]
    shown = failed if every else failed[-_LINES:]
    if len(failed) > len(shown):
        hidden = len(failed) - len(shown)
        more = f"  no {'route':12} {hidden} more that do not match: --all shows them"
    else:
        more = ""
    for it in steps:
        if it in failed and it not in shown:
            continue
        if it in failed and more:
            yield more
            more = ""
        whose = f"{named(it['object'])}: " if "object" in it else ""
        yield f"  {_MARKS[it['outcome']]} {it['topic']:12} {whose}{it['text']}"


def _named(share: "ShownBackend") -> str:
    """The kind, name and port of a backend; `nobody` for a share without one."""
    return f"{share.get('kind', 'Service')} {share['service']}" if "service" in share else "nobody"


def _backend(share: "ShownBackend", lost: str) -> str:
    if "service" not in share:
        closed = f"answered {share['status']}" if "status" in share else lost
        return f"{share['share']:.0%} {closed}: no Service"
    where = ", ".join(share["endpoints"][:3]) or "no ready endpoint"
    more = len(share["endpoints"]) - 3
    where += f" and {more} more" if more > 0 else ""
    to = f"{_named(share)} as {share['host']}{share['path']}"
    answer = _changed(share.get("responseHeaders", {}))
    answered = f"; its answers{answer}" if answer else ""
    return f"{share['share']:.0%} {to}{_changed(share['headers'])}: {where}{answered}"


def _changed(headers: "dict[str, str | None]") -> str:
    return ",".join(
        f" without {name}" if value is None else f" with {name}: {value}"
        for name, value in headers.items()
    )
