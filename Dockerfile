# The operator's image, and that of the agent on GPU nodes: `docker build --tag plimsoll-operator .`
#
# Both stages start from one base, since a virtual environment links to the Python that made it. Any
# base will do that has Python 3.11 or newer as `python3`, with venv and pip; the second stage needs
# neither of the two.
#
# Python 3.13.16 on Debian 13, as an index of all architectures. CONTRIBUTING.md says how to pin a
# newer one.
ARG BASE_IMAGE=python:3.13-slim@sha256:bb2988715db2cf7ace7b53f38f3cffbef7c7046a656bee66245eb0ed386e2e81

FROM ${BASE_IMAGE} AS build
WORKDIR /src
# First what the project stands on, which seldom changes: it is not fetched again for each change of
# the code. pip works on the environments from outside, so that none of it is in the image.
COPY locks locks
RUN python3 -m venv --without-pip /opt/plimsoll \
 && python3 -m pip --python /opt/plimsoll/bin/python install --no-cache-dir \
      --require-hashes --only-binary :all: --requirement locks/shipped.txt
RUN python3 -m venv --without-pip /opt/build \
 && python3 -m pip --python /opt/build/bin/python install --no-cache-dir \
      --require-hashes --only-binary :all: --requirement locks/build.txt
# A third of that is never used: the tests of libraries, and the Kubernetes client's other half, for
# asyncio.
RUN cd /opt/plimsoll/lib/python3*/site-packages \
 && rm -rf kubernetes/aio pandas/tests \
 && find numpy -type d -name tests -prune -exec rm -rf {} +
COPY README.md LICENSE pyproject.toml ./
COPY operator operator
COPY placement placement
COPY simulator simulator
COPY agent agent
COPY console console
RUN python3 -m pip --python /opt/build/bin/python wheel --no-cache-dir --no-deps \
      --no-build-isolation --wheel-dir /wheels . \
 && python3 -m pip --python /opt/plimsoll/bin/python install --no-cache-dir --no-deps /wheels/*.whl \
 && python3 -m pip --python /opt/plimsoll/bin/python check

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="plimsoll-operator" \
      org.opencontainers.image.description="Plans elastic GPU training and inference together" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/plimsoll /opt/plimsoll
# The file system may be read-only: modules are compiled already, and nothing else is written. kopf
# asks for the user's name, which a number without an entry in /etc/passwd has not.
# Matrices here are small: more threads than one only wait for each other.
ENV PATH=/opt/plimsoll/bin:$PATH \
    OMP_NUM_THREADS=1 \
    OPENBLAS_NUM_THREADS=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    USER=plimsoll
# A number, for with a name Kubernetes cannot tell that it is not root.
USER 65532:65532
EXPOSE 8080 8081 8090
ENTRYPOINT ["kopf", "run", "--module", "plimsoll.main", "--standalone", "--all-namespaces", "--log-format", "json"]
