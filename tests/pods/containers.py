"""A container of a pod: its process, its probes, when it is started again, how it is ended."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import gmtime, monotonic, strftime, time
from typing import Any

import aiohttp

from tests.pods import probes, processes, sandbox

Raw = dict[str, Any]

_LAST_WORDS = 2.0  # seconds
_MOST_SAID = 2048  # bytes, in a status
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0  # seconds; in life ten times that


@dataclass(frozen=True, slots=True)
class Start:
    """All that a process of the container needs."""

    sandbox: sandbox.Sandbox
    command: list[str]
    environment: dict[str, str]
    address: str
    awake: asyncio.Event  # not set while its node is frozen


Prepare = Callable[[Raw], Awaitable[Start]]


class Container:
    """`told` is called whenever what its status says has changed."""

    def __init__(
        self, spec: Raw, prepare: Prepare, log: processes.Log, told: Callable[[], None]
    ) -> None:
        self.spec = spec
        self.name = spec["name"]
        self.state: Raw = {"waiting": {"reason": "PodInitializing"}}
        self.last_state: Raw = {}
        self.restarts = 0
        self.is_ready = False
        self.is_started = False
        self.is_ending = False  # nothing of it is to begin any more
        self.process: processes.Process | None = None
        self.log = log
        self._began = 0.0
        self._prepare = prepare
        self._told = told
        self._start: Start | None = None
        self._never = asyncio.Event()

    @property
    def code(self) -> int | None:
        """Of its last end; None while it has none."""
        found = self.state.get("terminated")
        return found["exitCode"] if found else None

    @property
    def is_running(self) -> bool:
        """Its process is there."""
        return self.process is not None and not self.process.ended.is_set()

    def wait_for(self, reason: str, message: str = "") -> None:
        """Says why it does not run."""
        waiting = {"waiting": {"reason": reason, "message": message}}
        if self.state != waiting:
            self.state = waiting
            self._told()

    async def keep(self, policy: str) -> None:
        """Runs it, again and again as the policy says; ends when it is over for good."""
        pause = 0.0
        while not self.is_ending:
            began = monotonic()
            await self.run()
            if self.is_ending or policy == "Never" or (policy == "OnFailure" and self.code == 0):
                return
            self.last_state, self.restarts = self.state, self.restarts + 1
            if monotonic() - began > 10 * _LONGEST_PAUSE:
                pause = 0.0
            if pause:
                self.wait_for("CrashLoopBackOff", f"again in {pause} s")
                await asyncio.sleep(pause)
            pause = min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE)

    async def run(self) -> None:
        """Once, from its start to its end."""
        self._start = start = await self._prepare(self.spec)
        if self.is_ending:
            return
        box, self._began = start.sandbox, time()
        self.process = processes.Process(
            box.launch(start.command), start.environment, self.log, box.user
        )
        self.state = {"running": {"startedAt": _now()}}
        self._told()
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._watch())
            await self.process.ended.wait()
            watching.cancel()
        self._ended()

    async def end(self, grace: float) -> None:
        """First it is told by preStop, then by SIGTERM; when the time is over it is killed.

        Meanwhile it is asked whether it is ready, as before. A preStop that takes all the time
        leaves two seconds for the rest.
        """
        if self.process is None or not self.is_running:
            return
        deadline = monotonic() + grace
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._pre_stop()
        self.process.signal(_stop_signal(self.spec))
        rest = deadline - monotonic()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(rest, _LAST_WORDS if grace else 0.0)):
                await self.process.ended.wait()
        self.process.kill()
        await self.process.ended.wait()
        self._ended()

    def kill(self) -> None:
        """At once."""
        if self.process is not None and self.is_running:
            self.process.kill()

    async def kill_and_wait(self) -> None:
        """At once; it is gone when this returns."""
        if self.process is not None:
            self.process.kill()
            await self.process.ended.wait()

    async def execute(self, command: list[str], seconds: float) -> int:
        """Runs a command beside its process; the exit code."""
        if self._start is None or self.process is None:
            return 1
        inside = self._start.sandbox.enter(self.process.pid, command)
        process = processes.Process(inside, self._start.environment, self.log, 0)
        try:
            async with asyncio.timeout(seconds):
                await process.ended.wait()
        except TimeoutError:
            return 124
        finally:
            process.kill()
            await process.ended.wait()
        return process.code

    async def _watch(self) -> None:
        """Its probes, from its start on."""
        assert self._start is not None
        prober = probes.Prober(self.spec, self._start.address, self.execute, self._start.awake)
        if startup := self.spec.get("startupProbe"):
            await self._until_started(prober, startup)
        self.is_started = True
        readiness, liveness = self.spec.get("readinessProbe"), self.spec.get("livenessProbe")
        if not readiness:
            self._set_ready(True)
        self._told()
        async with asyncio.TaskGroup() as tasks:
            if readiness:
                tasks.create_task(prober.watch(readiness, self._set_ready))
            if liveness:
                tasks.create_task(prober.watch(liveness, self._set_alive, is_eager=False))

    async def _until_started(self, prober: probes.Prober, probe: Raw) -> None:
        done = asyncio.Event()

        def told(good: bool) -> None:
            done.set() if good else self._set_alive(False)

        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(prober.watch(probe, told))
            await done.wait()
            watching.cancel()

    def _set_ready(self, is_ready: bool) -> None:
        if self.is_ready is not is_ready:
            self.is_ready = is_ready
            self._told()

    def _set_alive(self, is_alive: bool) -> None:
        if not is_alive and self.process is not None and not self.is_ending:
            self.process.signal(signal.SIGTERM)
            grace = float(self.spec.get("terminationGracePeriodSeconds", 5))
            asyncio.get_running_loop().call_later(grace, self.process.kill)

    async def _pre_stop(self) -> None:
        hook = self.spec.get("lifecycle", {}).get("preStop")
        assert self._start is not None
        if not hook:
            return
        if "sleep" in hook:
            await asyncio.sleep(hook["sleep"]["seconds"])
        elif "exec" in hook:
            await self.execute(hook["exec"]["command"], 3600)
        elif "httpGet" in hook:
            prober = probes.Prober(self.spec, self._start.address, self.execute, self._start.awake)
            try:
                await prober.get(hook["httpGet"])
            except (OSError, aiohttp.ClientError) as error:
                self.log.write(f"preStop failed: {error}\n".encode())

    def _ended(self) -> None:
        """Whoever sees it first says it."""
        if self.process is None or "running" not in self.state:
            return
        began = self.state["running"]["startedAt"]
        code = self.process.code
        reason = "Completed" if code == 0 else "Error"
        self.state = {
            "terminated": {
                "exitCode": code, "reason": reason, "startedAt": began, "finishedAt": _now(),
                **({"message": self._said()} if code else {}),
            }
        }  # fmt: skip
        self.is_ready = self.is_started = False
        self._told()

    def _said(self) -> str:
        """What is told of one that has failed; files for that are not read."""
        if self.spec.get("terminationMessagePolicy") != "FallbackToLogsOnError":
            return ""
        written = b"".join(line for _, line in self.log.lines(self._began))
        return written[-_MOST_SAID:].decode(errors="replace")


def _stop_signal(spec: Raw) -> int:
    return int(getattr(signal, spec.get("lifecycle", {}).get("stopSignal") or "SIGTERM"))


def _now() -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
