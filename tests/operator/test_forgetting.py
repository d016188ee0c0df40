"""What an operator forgets that leads for months."""

from contour_operator import desired
from contour_operator.run import Operator, Options, _Term
from kube import election
from kube.client import Client
from observability.signals import StopSignals
from provisioning.keeping.ownership import Owner
from tests.cluster.double.server import Double
from tests.kube.followed import At

OWNER = Owner("default", "contour")


async def test_a_configuration_whose_end_kopf_did_not_tell_is_forgotten() -> None:
    """kopf lists again after an outage, and does not tell what has gone meanwhile."""
    async with Double() as double, Client(At(double.url)) as client:
        options = Options(At(double.url), election.Place("default", "lease"), desired.Release())
        elector = election.Elector(client, options.lease)
        term = _Term(Operator(client, options, elector, StopSignals()), client, options)
        term._noticed(OWNER, False)
        assert term.counts().configurations == 1
        assert await term._reconcile(OWNER) is False
        assert term.counts().configurations == 0
