"""The life of one pod on a node: volumes, init containers, containers, status, end."""

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import aiohttp

from tests.pods import environment, images, names, processes, sandbox, statuses, volumes
from tests.pods.containers import Container, Start
from tests.pods.network import Network
from tests.pods.wakeups import Wakeup
from tests.testbed.apiserver import Client, RefusedError

Raw = dict[str, Any]

_PAUSE = 0.5  # seconds before something is tried again


@dataclass(frozen=True, slots=True)
class Site:
    """What all pods of a runner have in common."""

    api: Client
    network: Network
    images: images.Images
    find: environment.Find
    folder: Path
    news: Wakeup = field(default_factory=Wakeup)  # Secrets and ConfigMaps
    _awake: dict[str, asyncio.Event] = field(default_factory=dict)

    def awake(self, node: str) -> asyncio.Event:
        """Set unless the node of this address is frozen."""
        if node not in self._awake:
            self._awake[node] = asyncio.Event()
            self._awake[node].set()
        return self._awake[node]


class Pod:
    """`told` is called when its status has changed."""

    def __init__(self, site: Site, node: str, obj: Raw, told: Callable[[], None]) -> None:
        self.obj = obj
        self.uid: str = obj["metadata"]["uid"]
        self.address = ""
        self._site = site
        self._node = node
        self.netns = ""
        self._told = told
        self._folder = site.folder / "pods" / self.uid
        self._tokens: dict[str, tuple[str, float]] = {}
        self._is_prepared = False
        self._ending, self._gone = asyncio.Event(), asyncio.Event()
        self._changed = Wakeup()
        spec = obj["spec"]
        self.initial = [self._container(it) for it in spec.get("initContainers") or ()]
        self.main = [self._container(it) for it in spec["containers"]]
        self.observe(obj)

    @property
    def containers(self) -> Mapping[str, Container]:
        """All, by name."""
        return {it.name: it for it in (*self.initial, *self.main)}

    def observe(self, obj: Raw | None) -> None:
        """What the API server now has; None if the pod is gone there."""
        if obj is None:
            self._gone.set()
        else:
            self.obj = obj
        if obj is None or "deletionTimestamp" in obj["metadata"]:
            self._ending.set()
            for it in self.containers.values():
                it.is_ending = True
        self._changed.wake()

    async def live(self) -> None:
        """From its binding until nothing of it is left."""
        self.netns, self.address = self._site.network.add_pod()
        try:
            async with asyncio.TaskGroup() as tasks:
                background = [
                    tasks.create_task(it) for it in (self._tell(), self._refresh(), self._work())
                ]
                await self._ending.wait()
                await self._site.awake(self._node).wait()
                await self._end()
                for it in background:
                    it.cancel()
            await self._bury()
        finally:
            await self._clean()

    def kill(self) -> None:
        """All its processes, at once."""
        for it in self.containers.values():
            it.kill()

    def signal(self, number: int) -> None:
        """To all its processes."""
        for it in self.containers.values():
            if it.process is not None and it.is_running:
                os.killpg(it.process.pid, number)

    async def _work(self) -> None:
        """All that its containers do by themselves."""
        await self._prepare_volumes()
        self._is_prepared = True
        policy = self.obj["spec"].get("restartPolicy", "Always")
        async with asyncio.TaskGroup() as tasks:
            for it in self.initial:
                if it.spec.get("restartPolicy") == "Always":
                    tasks.create_task(it.keep("Always"))
                    while not it.is_started:
                        await self._changed.wait()
                else:
                    await it.keep("Never" if policy == "Never" else "OnFailure")
                    if it.code != 0 or self._ending.is_set():
                        return
            for it in self.main:
                tasks.create_task(it.keep(policy))

    async def _end(self) -> None:
        """As gracefully as it is asked for, unless the pod is gone already."""
        grace = float(self.obj["metadata"].get("deletionGracePeriodSeconds") or 0)
        async with asyncio.TaskGroup() as tasks:
            killing = tasks.create_task(self._kill_when_gone())
            ends = [tasks.create_task(it.end(grace)) for it in self.main]
            if ends:
                await asyncio.wait(ends)
            for it in reversed(self.initial):
                await it.end(min(grace, 5))
            killing.cancel()

    async def _kill_when_gone(self) -> None:
        await self._gone.wait()
        self.kill()

    async def _bury(self) -> None:
        """The last word of a node about a pod."""
        if self._gone.is_set():
            return
        await self._write_status()
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}}
        await self._insist("DELETE", self._path, body)

    async def _clean(self) -> None:
        for it in self.containers.values():
            await it.kill_and_wait()
        self._site.network.remove_pod(self.netns, self.address)
        for it in self.containers.values():
            it.log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    # What is told

    def _note(self) -> None:
        self._changed.wake()
        self._told()

    async def _tell(self) -> None:
        told: Raw = {}
        while True:
            now = self._status()
            if now != told:
                await self._write_status()
                told = now
            else:
                await self._changed.wait()

    def _status(self) -> Raw:
        where = (self.address, self._node)
        return statuses.status(self.obj, where, self.initial, self.main, self._is_prepared)

    async def _write_status(self) -> None:
        body = {"metadata": {"uid": self.uid}, "status": self._status()}
        answer = await self._insist("PATCH", f"{self._path}/status", body, "merge")
        if answer and "deletionTimestamp" not in self.obj["metadata"]:
            self.obj = answer

    async def _insist(self, method: str, path: str, body: Raw, media: str = "") -> Raw | None:
        """Until there is an answer; None if that is a refusal."""
        while not self._gone.is_set():
            await self._site.awake(self._node).wait()
            try:
                return await self._site.api.ask(method, path, body, media)
            except RefusedError as error:
                if error.code < 500 and error.code != 429:
                    return None
            except (aiohttp.ClientError, OSError, TimeoutError):
                pass
            await asyncio.sleep(_PAUSE)
        return None

    @property
    def _path(self) -> str:
        metadata = self.obj["metadata"]
        return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"

    # What is prepared

    def _container(self, spec: Raw) -> Container:
        metadata = self.obj["metadata"]
        name = f"{metadata['namespace']}_{metadata['name']}_{spec['name']}.log"
        log = processes.Log(self._site.folder / "logs" / name)
        return Container(spec, self._prepare, log, self._note)

    async def _prepare(self, spec: Raw) -> Start:
        container = self.containers[spec["name"]]
        while True:
            await self._site.awake(self._node).wait()
            try:
                return self._start(spec)
            except environment.MissingError as error:
                container.wait_for("CreateContainerConfigError", str(error))
            except LookupError as error:
                container.wait_for("ErrImagePull", str(error))
            await self._site.news.wait(2.0)

    def _start(self, spec: Raw) -> Start:
        image = self._site.images.find(spec["image"])
        if image is None:
            raise LookupError(f"no image {spec['image']} is known here")
        known = {"status": {"podIP": self.address, "hostIP": self._node}}
        pod = self.obj | {"status": self.obj.get("status", {}) | known["status"]}
        asked = environment.variables(spec, pod, self._site.find)
        box = self._sandbox(spec, image)
        command = environment.command(spec, image.entrypoint, asked)
        own = box.environment(asked, image.environment)
        return Start(box, command, own, self.address, self._site.awake(self._node))

    def _sandbox(self, spec: Raw, image: images.Image) -> sandbox.Sandbox:
        of_pod = self.obj["spec"].get("securityContext") or {}
        own = {**of_pod, **(spec.get("securityContext") or {})}
        groups = [own.get("runAsGroup", 0), *of_pod.get("supplementalGroups", ())]
        group = of_pod.get("fsGroup")
        root = self._folder / "roots" / spec["name"]
        root.mkdir(parents=True, exist_ok=True)
        return sandbox.Sandbox(
            root, self.netns, self.obj["metadata"]["name"][:63],
            [*self._mounts(spec), *(sandbox.Mount(it, str(it)) for it in image.shows)],
            own.get("runAsUser", 0), groups if group is None else [*groups, group],
            own.get("readOnlyRootFilesystem", False),
            own.get("allowPrivilegeEscalation") is False,
            spec.get("workingDir") or "/",
        )  # fmt: skip

    def _mounts(self, spec: Raw) -> list[sandbox.Mount]:
        etc = self._folder / "etc"
        found = [sandbox.Mount(etc / it, f"/etc/{it}") for it in ("resolv.conf", "hosts")]
        for it in spec.get("volumeMounts") or ():
            source = self._source(it["name"])
            if "subPath" in it:
                source = volumes.below(source, it["subPath"])
            found.append(sandbox.Mount(source, it["mountPath"], it.get("readOnly", False)))
        return found

    def _source(self, name: str) -> Path:
        volume: Raw = next(it for it in self.obj["spec"]["volumes"] if it["name"] == name)
        if "hostPath" in volume:
            return Path(str(volume["hostPath"]["path"]))
        return Path(self._folder, "volumes", name)

    # Volumes

    async def _prepare_volumes(self) -> None:
        self._write_etc()
        while True:
            try:
                return await self._write_volumes()
            except environment.MissingError as error:
                for it in (*self.initial, *self.main):
                    it.wait_for("ContainerCreating", str(error))
            await self._site.news.wait(2.0)

    async def _refresh(self) -> None:
        """Volumes show what their objects now hold; tokens are renewed in time."""
        while True:
            soonest = min((end for _, end in self._tokens.values()), default=monotonic() + 3600)
            await self._site.news.wait(max(1.0, soonest - monotonic()))
            if self._is_prepared:
                try:
                    await self._write_volumes()
                except environment.MissingError:
                    continue  # as in life: what was shown stays

    async def _write_volumes(self) -> None:
        group = (self.obj["spec"].get("securityContext") or {}).get("fsGroup")
        for volume in self.obj["spec"].get("volumes") or ():
            folder = self._folder / "volumes" / volume["name"]
            if any(it in volume for it in volumes.FROM_OBJECTS):
                tokens = await self._fresh_tokens(volume)
                found = volumes.files(volume, self.obj, self._site.find, tokens)
                volumes.write(folder, found, group)
            elif "emptyDir" in volume and not folder.exists():
                volumes.write_empty(folder, group)

    async def _fresh_tokens(self, volume: Raw) -> dict[str, str]:
        for it in volumes.tokens_of(volume):
            audience = it.get("audience", "")
            if self._tokens.get(audience, ("", 0.0))[1] <= monotonic():
                seconds = it.get("expirationSeconds", 3600)
                token = await self._request_token(audience, seconds)
                self._tokens[audience] = token, monotonic() + 0.8 * seconds
        return {audience: token for audience, (token, _) in self._tokens.items()}

    async def _request_token(self, audience: str, seconds: int) -> str:
        metadata = self.obj["metadata"]
        account = self.obj["spec"].get("serviceAccountName", "default")
        owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": self.uid}
        spec = {"expirationSeconds": seconds, "boundObjectRef": owner}
        path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token"
        body = {"spec": spec | ({"audiences": [audience]} if audience else {})}
        answer = await self._insist("POST", path, body)
        if answer is None:
            raise environment.MissingError(f"no token for {account}")
        return str(answer["status"]["token"])

    def _write_etc(self) -> None:
        etc = self._folder / "etc"
        etc.mkdir(parents=True, exist_ok=True)
        namespace = self.obj["metadata"]["namespace"]
        etc.joinpath("resolv.conf").write_text(
            names.resolv_conf(self._site.network.host, namespace)
        )
        own = f"127.0.0.1 localhost\n{self.address} {self.obj['metadata']['name']}\n"
        etc.joinpath("hosts").write_text(own)
