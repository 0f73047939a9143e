# The project's images:  docker build --target operator .   and the same for race and race6
# Compiled Python is not checked against its sources: a build with fixed timestamps would make all of it out of date.
# APT_CONFIG and PIP_CONFIG_FILE let a build use a machine's own package settings without baking them in.
ARG BASE=debian:bookworm-slim
ARG K6=grafana/k6:1.8.1

FROM ${BASE} AS python
ARG APT_CONFIG
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 ca-certificates \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

FROM python AS pip
ARG APT_CONFIG PIP_CONFIG_FILE
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip python3-venv
COPY requirements/build.txt /build/
RUN python3 -m venv /build/venv && /build/venv/bin/pip install --no-cache-dir -r /build/build.txt

FROM pip AS operator-build
ARG PIP_CONFIG_FILE
COPY requirements/operator.txt /build/
RUN python3 -m venv --without-pip /opt/fairlap \
 && pip --python /opt/fairlap/bin/python install --no-cache-dir --no-compile --no-deps -r /build/operator.txt \
 && find /opt/fairlap -name tests -type d -prune -exec rm -rf {} + \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/fairlap
WORKDIR /build/source
COPY pyproject.toml README.md ./
COPY operator/fairlap operator/fairlap
COPY operator/fairlap_race operator/fairlap_race
RUN /build/venv/bin/pip wheel --no-deps --no-build-isolation -w /build/wheels . \
 && pip --python /opt/fairlap/bin/python install --no-cache-dir --no-compile --no-deps --no-index /build/wheels/*.whl \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/fairlap/lib/python3*/site-packages/fairlap*

FROM python AS operator
COPY --from=operator-build /opt/fairlap /opt/fairlap
ENV PATH=/opt/fairlap/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 1000:1000
ENTRYPOINT ["python", "-m", "fairlap"]

# The race image and its twin with an older Rally, for clusters that the newer one does not speak to.
FROM python AS race-base
ARG APT_CONFIG
# git and ssh fetch tracks, and Rally looks for git when it starts; pbzip2 and zstd unpack corpora with all cores.
RUN apt-get update \
 && apt-get install -y --no-install-recommends git openssh-client pbzip2 zstd \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* \
 && useradd --uid 1000 --user-group --home-dir /work --no-create-home rally
ENV PATH=/opt/rally/bin:/usr/local/bin:/usr/bin:/bin PYTHONPATH=/opt/fairlap \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
ENTRYPOINT ["python", "-m", "fairlap_race"]

FROM pip AS race6-build
ARG PIP_CONFIG_FILE
COPY requirements/race6.txt /build/
RUN python3 -m venv --without-pip /opt/rally \
 && pip --python /opt/rally/bin/python install --no-cache-dir --no-compile --no-deps -r /build/race6.txt \
 && find /opt/rally -name tests -type d -prune -exec rm -rf {} + \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/rally

FROM race-base AS race6
COPY --from=race6-build /opt/rally /opt/rally
COPY operator/fairlap_race /opt/fairlap/fairlap_race
COPY tracks /opt/fairlap/tracks
RUN /opt/rally/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/fairlap
USER 1000:1000

FROM pip AS race-build
ARG PIP_CONFIG_FILE
COPY requirements/race.txt /build/
RUN python3 -m venv --without-pip /opt/rally \
 && pip --python /opt/rally/bin/python install --no-cache-dir --no-compile --no-deps -r /build/race.txt \
 && find /opt/rally -name tests -type d -prune -exec rm -rf {} + \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/rally

# k6 sends the requests of races over HTTP; this and the next come last, so that no other target needs its image.
FROM ${K6} AS k6

FROM race-base AS race
COPY --from=race-build /opt/rally /opt/rally
COPY --from=k6 /usr/bin/k6 /usr/local/bin/k6
COPY operator/fairlap_race /opt/fairlap/fairlap_race
COPY tracks /opt/fairlap/tracks
RUN /opt/rally/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/fairlap
USER 1000:1000
