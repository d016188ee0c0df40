"""Refusals: the Status objects of the API server, by reason."""

from typing import Any

Raw = dict[str, Any]

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class RefusalError(Exception):
    """Raised where a request is refused; becomes its answer."""

    def __init__(
        self, code: int, message: str, reason: str = "", details: Raw | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status(code, message, reason)
        if details:
            self.status["details"] = details


def status(code: int, message: str, reason: str = "") -> Raw:
    """A Status of a failure."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason or REASONS.get(code, "Unknown"),
        "code": code,
    }


def not_found(plural: str, group: str, name: str) -> RefusalError:
    """There is no such object."""
    message = f'{_qualified(plural, group)} "{name}" not found'
    return RefusalError(404, message, "", _details(plural, group, name))


def already_exists(plural: str, group: str, name: str) -> RefusalError:
    """There is such an object already."""
    message = f'{_qualified(plural, group)} "{name}" already exists'
    return RefusalError(409, message, "AlreadyExists", _details(plural, group, name))


def conflict(plural: str, group: str, name: str, why: str) -> RefusalError:
    """The object has changed since it was read."""
    message = f'Operation cannot be fulfilled on {_qualified(plural, group)} "{name}": {why}'
    return RefusalError(409, message, "", _details(plural, group, name))


def invalid(plural: str, group: str, name: str, why: str) -> RefusalError:
    """The object is invalid."""
    message = f'{_qualified(plural, group)} "{name}" is invalid: {why}'
    return RefusalError(422, message, "", _details(plural, group, name))


def expired(message: str) -> RefusalError:
    """The history that was asked for has been dropped."""
    return RefusalError(410, message)


def unknown_resource() -> RefusalError:
    """The path leads to no part of an object."""
    return RefusalError(404, "the server could not find the requested resource")


def _details(plural: str, group: str, name: str) -> Raw:
    return {"name": name, **({"group": group} if group else {}), "kind": plural}


def _qualified(plural: str, group: str) -> str:
    return f"{plural}.{group}" if group else plural
