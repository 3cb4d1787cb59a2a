# One image for web, workers, sweep and migrations; the command chooses.
FROM python:3.13-slim

COPY --from=ghcr.io/astral-sh/uv:0.9 /uv /bin/uv
ENV UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 PYTHONUNBUFFERED=1

WORKDIR /signalbox
COPY .python-version pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev

COPY manage.py ./
COPY console console
COPY memory memory
COPY runtime runtime
COPY templates templates

RUN useradd --system --uid 10001 signalbox && install -d -o signalbox /data
USER signalbox
VOLUME /data
ENV SIGNALBOX_DATA_DIR=/data
ENTRYPOINT ["/signalbox/.venv/bin/python", "manage.py"]
CMD ["web", "--host", "0.0.0.0"]
