"""Which pods are replicas of one instance."""

from contour.remote import instances
from tests.contour.remote.test_instances import pod


def test_a_pod_of_another_namespace_is_no_replica_whatever_its_arguments_say() -> None:
    """Whoever may create pods could otherwise be asked in place of the leader."""
    theirs = pod("a-tenant", "a", "--namespace=projectcontour", "--disable-leader-election")
    ours = [pod("projectcontour", name) for name in ("contour-a", "contour-b")]
    found = instances.grouped([ours[1], theirs, ours[0]])
    assert {str(it): [replica.pod for replica in it.replicas] for it in found} == {
        "projectcontour/contour (pods of namespace a-tenant)": ["a"],
        "projectcontour/contour": ["contour-a", "contour-b"],
    }
