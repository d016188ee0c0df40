"""Answers Envoys whether requests are within their limits (`envoy.service.ratelimit.v3`).

All descriptors with a limit are counted, whatever the result for the others; the request is over
the limit if one of them is. Source: envoyproxy/ratelimit, with whose answers a test compares ours.
"""

import logging
from collections.abc import Sequence
from hashlib import blake2b

from envoy.service.ratelimit.v3 import rls_pb2
from google.protobuf.message import DecodeError
from grpc import StatusCode

from contour.ratelimits import limits
from contour.ratelimits.calls import Caller, Refused
from contour.ratelimits.counting import Clock, Counters, Hit, clock
from contour.ratelimits.limits import Domains, Limit
from contour.ratelimits.messages import Descriptor
from contour.ratelimits.messages import RateLimitRequest as Request

log = logging.getLogger(__name__)

QUIET = 60
"""Seconds in which faults of the counters are logged once."""

Response = rls_pb2.RateLimitResponse
Status = rls_pb2.RateLimitResponse.DescriptorStatus


class Service:
    """The answers; `domains` is replaced as a whole when there is a new configuration."""

    path = b"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
    too_long = Response(overall_code=Response.OVER_LIMIT).SerializeToString()
    """Who sends more than can be counted is over the limit: without an answer the request would
    pass all its limits."""

    def __init__(self, counters: Counters, now: Clock = clock, client: str | None = None) -> None:
        """`client` is the name that certificates of clients must have; None: they need none."""
        self.domains: Domains | None = None
        """The limits; None until the first configuration."""
        self._counters = counters
        self._now = now
        self._client = client
        self._noted = -QUIET
        self._has_complained = False

    async def answer(self, message: bytes, caller: Caller) -> bytes:
        """Answers one request of an Envoy. Raises `Refused`."""
        if self._client is not None and not _is_shown(self._client, caller):
            raise Refused(StatusCode.PERMISSION_DENIED, f"only {self._client} may ask")
        if self.domains is None:
            raise Refused(StatusCode.UNAVAILABLE, "there are no limits yet")
        try:
            response = await self.decide(Request.FromString(message))
        except DecodeError as error:
            self._complain(error)
            raise Refused(StatusCode.INTERNAL, f"not a RateLimitRequest: {error}") from error
        except OSError as error:
            self._note(str(error))
            raise Refused(StatusCode.UNAVAILABLE, str(error)) from error
        return response.SerializeToString()

    def _note(self, fault: str) -> None:
        """Logs a fault, but not with each request: others may be counted in between."""
        now = self._now()
        if not 0 <= now - self._noted < QUIET:
            log.error("%s", fault)
            self._noted = now

    def _complain(self, error: DecodeError) -> None:
        """Logs the first request that cannot be read; there may be many, between others."""
        if not self._has_complained:
            log.error("a request for a decision is no RateLimitRequest: %s", error)
        self._has_complained = True

    async def decide(self, request: Request) -> Response:
        """Counts a request; raises OSError if the counters cannot be reached."""
        now, domains = self._now(), self.domains or {}
        keyed = [_entries(it) for it in request.descriptors]
        found = [limits.limit(domains, request.domain, it) for it in keyed]
        hits = [
            Hit(
                _key(request.domain, entries),
                it.limit.seconds,
                _hits(request, descriptor),
                it.path,
            )
            for it, entries, descriptor in zip(found, keyed, request.descriptors, strict=True)
            if it is not None
        ]
        counts = iter(await self._counters.add(hits, now) if hits else ())
        statuses = [
            Status(code=Response.OK) if it is None else _status(it.limit, next(counts), now)
            for it in found
        ]
        return Response(overall_code=_overall(statuses), statuses=statuses)


def _is_shown(name: str, caller: Caller) -> bool:
    """Whether the certificate of the caller has this DNS name."""
    certificate = caller("peercert")
    return isinstance(certificate, dict) and ("DNS", name) in certificate["subjectAltName"]


def _entries(descriptor: Descriptor) -> tuple[limits.Entry, ...]:
    return tuple((it.key, it.value) for it in descriptor.entries)


def _key(domain: str, entries: tuple[limits.Entry, ...]) -> bytes:
    """The key of a counter, with a fixed size however long the values are."""
    return blake2b(repr((domain, entries)).encode(), digest_size=16).digest()


def _hits(request: Request, descriptor: Descriptor) -> int:
    if descriptor.HasField("hits_addend"):
        return descriptor.hits_addend.value
    return request.hits_addend or 1


def _status(limit: Limit, count: int, now: int) -> Status:
    is_over = count > limit.requests and not limit.is_shadow
    made = Status(
        code=Response.OVER_LIMIT if is_over else Response.OK,
        limit_remaining=max(0, limit.requests - count),
    )
    made.current_limit.requests_per_unit = limit.requests
    made.current_limit.unit = Response.RateLimit.Unit.ValueType(limit.unit)
    made.duration_until_reset.seconds = limit.seconds - now % limit.seconds
    return made


def _overall(statuses: Sequence[Status]) -> Response.Code.ValueType:
    is_over = any(it.code == Response.OVER_LIMIT for it in statuses)
    return Response.OVER_LIMIT if is_over else Response.OK
