"""What can go wrong on a user's machine; each message says what to do about it."""


class Error(Exception):
    """An error that is shown to the user as text, without a traceback."""


class NotInstalledError(Error):
    """Something that is needed is not installed: Envoy, or an optional package."""


class RefusedError(Error):
    """Something that the user named cannot be used: a state directory that is not ours, a bad
    port."""


class OccupiedError(Error):
    """Another process uses what this one needs."""


class CrashLoopError(Error):
    """Envoy has ended again and again without ever serving."""
