"""EnvoyConfigs without texts: the rows that reading them would write."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from crds.contourconfiguration import ContourConfiguration, ContourConfigurationSpec
from crds.discovery import DiscoverySettings
from crds.endpointslice import Endpoint, EndpointPort, EndpointSlice
from crds.envoyconfig import EnvoyConfig, EnvoyConfigSpec
from crds.gateway.selector import LabelSelector
from crds.meta import NamespacedName, ObjectMeta
from crds.secret import Secret
from dag import plan, tables
from dag.engine.incremental import Engine
from dag.rawconfig import content, revisions
from dag.rawconfig import status as statuses
from dag.rawconfig.content import Content, Fixed, FromSecret, FromSlices, Item, Reading, Remark
from dag.rawconfig.revisions import Acknowledgements, Choice, EditionKey
from dag.statuses import EnvoyConfigStatus

NODE = "proxy"


def item(version: str) -> Item:
    return Fixed("cluster", "one", version.encode())


class Stage:
    """One namespace of EnvoyConfigs, and what is heard of them; revisions are written down."""

    def __init__(self, discovery: DiscoverySettings | None = None) -> None:
        self.engine = Engine(plan.PLAN)
        if discovery is not None:
            spec = ContourConfigurationSpec(discovery=discovery)
            found = ContourConfiguration(metadata=ObjectMeta(name="it"), spec=spec)
            self.engine.write(tables.CONFIGURATIONS, found.metadata.key, found)

    def write(
        self,
        version: str,
        *,
        name: str = "a",
        node: str = NODE,
        items: Sequence[Item] = (),
        age: int = 0,
        errors: Sequence[Remark] = (),
    ) -> None:
        """Edits an EnvoyConfig."""
        key = NamespacedName("default", name)
        created = datetime(2026, 1, 1, tzinfo=UTC) - timedelta(days=age)
        metadata = ObjectMeta(name=name, namespace="default", creation_timestamp=created)
        found = EnvoyConfig(metadata=metadata, spec=EnvoyConfigSpec(node_id=node, resources=()))
        self.engine.write(tables.ENVOY_CONFIGS, key, found)
        said = Content(node, version, tuple(items) or (item(version),)) if not errors else None
        self.engine.write(content.READINGS, key, Reading(node, version, said, tuple(errors)))
        self.settle()

    def add_secret(self, name: str, data: dict[str, bytes]) -> None:
        """An opaque Secret."""
        found = Secret(metadata=ObjectMeta(name=name, namespace="default"), data=data)
        self.engine.write(tables.SECRETS, found.metadata.key, found)
        self.settle()

    def add_slice(self, port: str, *addresses: str) -> None:
        """An EndpointSlice with the label `app: app`."""
        found = EndpointSlice(
            metadata=ObjectMeta(name="app", namespace="default", labels={"app": "app"}),
            address_type="IPv4",
            endpoints=tuple(Endpoint(addresses=(it,)) for it in addresses),
            ports=(EndpointPort(name=port, port=80),) if port else (),
        )
        self.engine.write(tables.ENDPOINT_SLICES, found.metadata.key, found)
        self.settle()

    def delete(self, name: str = "a") -> None:
        key = NamespacedName("default", name)
        self.engine.write(tables.ENVOY_CONFIGS, key, None)
        self.engine.write(content.READINGS, key, None)
        self.settle()

    def hear(self, version: str, *words: str, of: int = 1, taken: bool = False) -> None:
        """Envoys refuse a version with these words, or take it."""
        heard = Acknowledgements(tuple(sorted(set(words))), len(words), of, taken)
        self.engine.write(revisions.ACKNOWLEDGEMENTS, EditionKey("default", NODE, version), heard)
        self.settle()

    def take(self, version: str) -> None:
        self.hear(version, taken=True)

    def forget(self) -> None:
        """Another process takes over: it has heard nothing, and knows what was written down."""
        for key, _ in self.engine.rows(revisions.ACKNOWLEDGEMENTS):
            self.engine.write(revisions.ACKNOWLEDGEMENTS, key, None)
        self.settle()

    def remove_revision(self, version: str, name: str = "a") -> None:
        """A user deletes a revision, and what was heard of it is forgotten."""
        self.engine.write(revisions.ACKNOWLEDGEMENTS, EditionKey("default", NODE, version), None)
        key = NamespacedName("default", name)
        known = self.engine.row(revisions.HISTORY, key) or ()
        kept = tuple(it for it in known if it.content.version != version)
        self.engine.write(revisions.HISTORY, key, kept or None)
        self.settle()
        # The same answer as before is no change, but it has to be written down again.
        self.engine.write(revisions.HISTORY, key, self.engine.answer(revisions.history, key))
        self.settle()

    def settle(self) -> None:
        while changes := self.engine.settle():
            for it in changes:
                if it.query is revisions.history:
                    self.engine.write(revisions.HISTORY, it.key, it.new or None)

    def choice(self, name: str = "a") -> Choice | None:
        return self.engine.answer(revisions.choice, NamespacedName("default", name))

    def status(self, name: str = "a") -> EnvoyConfigStatus | None:
        return self.engine.answer(statuses.status, NamespacedName("default", name))

    def served(self, name: str = "a") -> str:
        """The version that is served, and the state."""
        found = self.choice(name)
        if found is None or found.published is None:
            return "nothing"
        return f"{found.published.version} {found.state}"


def missing_secret(name: str = "tls") -> Item:
    return FromSecret(name, NamespacedName("default", name), "generic", "key")


def endpoints(port: str) -> Item:
    return FromSlices("app", "default", LabelSelector(match_labels={"app": "app"}), port)
