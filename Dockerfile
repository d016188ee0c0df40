# The control plane and the operator; also what runs beside Envoy in its pods. Envoy is an image of
# its own. Build with: docker build -t contour-ingress:0.1.0 .
#
# For amd64 and arm64: docker buildx build --platform linux/amd64,linux/arm64 --sbom=true --push -t ... .
# (--sbom=true attaches the list of packages). It runs as user 65532 and writes nowhere but to volumes.
#
# PYTHON is given by tag; a release pins it by digest (--build-arg PYTHON=python@sha256:...). Packages
# are those of requirements.lock, each with its hashes; hack/lock writes it.
ARG PYTHON=docker.io/library/python:3.11-slim-bookworm

FROM ${PYTHON} AS build
WORKDIR /source
RUN python -m venv /opt/contour
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
COPY requirements.lock ./
RUN /opt/contour/bin/pip install --no-compile --require-hashes --only-binary :all: -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY docs/man docs/man
COPY crds crds
COPY dag dag
COPY kube kube
COPY provisioning provisioning
COPY observability observability
COPY contour contour
COPY operator operator
RUN /opt/contour/bin/pip install --no-compile --no-deps --no-build-isolation . \
    && /opt/contour/bin/pip uninstall -qy hatchling packaging pathspec pluggy setuptools tomlkit trove-classifiers \
    && rm -rf /opt/contour/lib/python3.*/site-packages/pip /opt/contour/lib/python3.*/site-packages/pip-* /opt/contour/bin/pip* \
    && find /opt/contour -name __pycache__ -prune -exec rm -rf {} + \
    # The root file system is read only where this runs: bytecode has to be there already. It does
    # not depend on the times of files, so that two builds are equal and builders may change times.
    && PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 /opt/contour/bin/python -m compileall -q \
        --invalidation-mode unchecked-hash /opt/contour/lib

FROM ${PYTHON}
COPY --from=build /opt/contour /opt/contour
ENV PATH=/opt/contour/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# By number, so that a kubelet can see that it is not root.
USER 65532:65532
EXPOSE 8000 8001
ENTRYPOINT ["contour"]
CMD ["--help"]
