# The server for a team, `vaultseek serve`: docs/team.md says how it is configured, built and run.
FROM python:3.12-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.12-slim
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/
ARG EXTRAS=
RUN pip install --no-cache-dir --constraint /wheels/constraints.txt "$(echo /wheels/*.whl)[$EXTRAS]" && rm -r /wheels \
    && useradd --uid 1000 --create-home vaultseek && install --directory --owner vaultseek --mode 0700 /data
USER 1000
ENV VAULTSEEK_CONFIG=/config/config.toml XDG_DATA_HOME=/data XDG_STATE_HOME=/data/state
VOLUME /data
HEALTHCHECK --start-period=2m CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9447/health')"]
CMD ["vaultseek", "serve"]
