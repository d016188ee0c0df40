"""The official conformance suite of the Gateway API, run against ours: `hack/conformance`.

The suite is a dependency, a Go module fixed in `hack/conformance-suite`; nothing of it is copied or
changed. `programs` builds it and the servers that it deploys, `world` starts a cluster with pods
and installs what users install, `command` is how the suite is asked, `report` reads what it wrote.
All of that takes minutes and is no part of the tests; what can be wrong quickly is.
"""
