"""What can go wrong on a user's machine; each message says what to do about it."""


class Error(Exception):
    """Told to the user as one text, without a traceback."""


class NotInstalledError(Error):
    """Something that is needed is not installed: Envoy, or an optional package."""


class RefusedError(Error):
    """What was asked for cannot be used: a state directory that is not ours, a bad port."""


class OccupiedError(Error):
    """Another process has what this one asks for."""


class KeepsDyingError(Error):
    """Envoy has ended again and again without ever serving."""
