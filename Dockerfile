# The sandbox of nightfuzz, and an ephemeral self-hosted runner: see docs/explanation/sandbox.md.
#
#   docker build --target sandbox --tag nightfuzz-sandbox .
#   docker build --target sandbox --tag nightfuzz-sandbox:cuda --build-arg BASE=nvidia/cuda:13.3.0-base-ubuntu24.04@sha256:… .
#   docker build --target runner --tag nightfuzz-runner .
#
# Any Debian or Ubuntu with Python 3.11 or newer will do as a base.
ARG BASE=python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b
ARG RUNNER=ghcr.io/actions/actions-runner:2.336.0@sha256:a1919047b038c38871d667c58cfdc7a878452711ab1212fb6036188f27a7ab16

FROM ${BASE} AS base
# Libraries that compile at run time need a compiler; instead of it, or beside it, further Debian packages.
ARG PACKAGES="g++"
# gdb brings the libraries that a foreign Python needs. Targets may lie in root's home: it lets others pass, not look.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends gdb ${PACKAGES} \
        $(command -v python3 > /dev/null || echo python3 python3-dev python3-venv) \
    && rm -rf /var/lib/apt/lists/* \
    && chmod 0711 /root

FROM base AS builder
# Addresses and certificates for pip, in this stage alone. Nothing secret belongs here: the engine keeps it in its cache.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG PIP_TRUSTED_HOST
ARG PIP_CERT
COPY requirements/app.txt /build/
RUN python3 -m venv /opt/nightfuzz/environment \
    && /opt/nightfuzz/environment/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes \
        --requirement /build/app.txt \
    && /opt/nightfuzz/environment/bin/python -c "import site; print(site.getsitepackages()[0])" > /build/site \
    && echo /opt/nightfuzz/code > "$(cat /build/site)/nightfuzz.pth"

FROM base AS sandbox
LABEL org.opencontainers.image.title="nightfuzz sandbox" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=builder /opt/nightfuzz/environment /opt/nightfuzz/environment
# Apart from the environment: workers are given this folder alone, and bring their own numpy.
COPY fuzz_core /opt/nightfuzz/code/fuzz_core
COPY Dockerfile /opt/nightfuzz/code/fuzz_core/execution/context/
COPY requirements/app.txt /opt/nightfuzz/code/fuzz_core/execution/context/requirements/
COPY nightfuzz/__init__.py /opt/nightfuzz/code/nightfuzz/
COPY reports /opt/nightfuzz/code/nightfuzz/reports
ENV PATH=/opt/nightfuzz/environment/bin:${PATH} \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-P", "-m", "fuzz_core.cli"]

# One job, then gone: `--jitconfig` is what GitHub gives for a single use (docs/explanation/sandbox.md).
FROM ${RUNNER} AS runner
ARG PACKAGES="g++"
USER root
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
        gdb git python3 python3-dev python3-venv ${PACKAGES} \
    && rm -rf /var/lib/apt/lists/*
USER runner
ENTRYPOINT ["/home/runner/run.sh"]
