# One image for `serve` and `compact`: locked dependencies, no store, not root, and read-only at run time.
# COMMIT is what `remit --version` names: docker build --build-arg COMMIT=$(git rev-parse HEAD) --platform linux/amd64,linux/arm64 .
# LOCK names the file of requirements/ to install: image, or image-otel for traces.
# PYTHON may be pinned: --build-arg PYTHON=python:3.11-slim-bookworm@sha256:…, with the digest that your registry shows.
ARG PYTHON=python:3.11-slim-bookworm

FROM ${PYTHON} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 SOURCE_DATE_EPOCH=1600000000
RUN python -m venv /opt/remit && python -m venv /opt/sbom && python -m venv /opt/docs
WORKDIR /src
COPY requirements/image.txt requirements/image-otel.txt requirements/sbom.txt requirements/docs.txt requirements/
RUN /opt/sbom/bin/pip install --require-hashes --only-binary :all: --requirement requirements/sbom.txt
RUN /opt/docs/bin/pip install --require-hashes --only-binary :all: --requirement requirements/docs.txt
ARG LOCK=image
RUN /opt/remit/bin/pip install --require-hashes --only-binary :all: --requirement requirements/${LOCK}.txt
ARG COMMIT=""
ENV REMIT_COMMIT=${COMMIT}
COPY pyproject.toml mkdocs.yml LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md ./
COPY lua lua
COPY app app
COPY docs docs
COPY bench bench
COPY deploy deploy
COPY examples examples
COPY tests/cases tests/cases
COPY clients/python/README.md clients/python/
# The documentation, which the service serves at /docs.
RUN PYTHONPATH=. /opt/docs/bin/mkdocs build --quiet
# The wheel contains lua/; the build tools are removed afterwards.
RUN /opt/remit/bin/python -m hatchling build --target wheel --directory /wheel \
 && /opt/remit/bin/pip install --no-index --no-deps /wheel/*.whl \
 && /opt/remit/bin/pip uninstall --yes --quiet editables hatchling pathspec pluggy trove-classifiers \
 && /opt/remit/bin/python -m compileall -q /opt/remit/lib \
 && /opt/remit/bin/remit --help > /dev/null
# The list of installed packages; the tool that writes it is not in the image.
RUN env -u SOURCE_DATE_EPOCH /opt/sbom/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
    --output-format JSON --output-file /sbom.cdx.json /opt/remit/bin/python

FROM ${PYTHON}
ARG COMMIT=""
LABEL org.opencontainers.image.title="Remit" \
      org.opencontainers.image.description="Decides whether an AI agent may call a tool, and records every answer it gives." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${COMMIT}"
RUN useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin remit
COPY --from=build /opt/remit /opt/remit
COPY --from=build /sbom.cdx.json /usr/share/doc/remit/sbom.cdx.json
ENV PATH=/opt/remit/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    REMIT_HOST=0.0.0.0 REMIT_LOG_FORMAT=json
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
# Whether the process answers. Whether it can decide is shown by /readyz, for load balancers.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s CMD ["python", "-P", "-c", \
  "import os, urllib.request as u; u.urlopen(f\"http://127.0.0.1:{os.environ.get('REMIT_PORT', '8080')}/livez\", timeout=2)"]
ENTRYPOINT ["remit"]
CMD ["serve"]
