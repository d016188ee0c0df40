"""The documentation site: `hack/docs` builds it from the pages of this repository and checks it."""
