"""What the process of the rate limit service is given."""

from contour.ratelimits import given
from dag import nodes
from dag.ratelimitservice import Process
from dag.references import redisaccess
from tests.testbed import pairs


def test_comments_in_pem_files_may_be_in_any_encoding() -> None:
    chain, key = (b"# caf\xe9\n" + it for it in pairs.pair())
    redis = redisaccess.Redis("rediss://a", authority=chain)
    found = given.settings(Process(redis, nodes.Secret(chain, key), chain))
    blocks = pairs.pair()[0].decode()
    assert all(blocks in it for it in (found.redis_authority, found.certificate, found.authority))
    assert pairs.pair()[1].decode() in found.key
