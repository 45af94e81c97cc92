# The product in one image: `docker run -p 8000:8000 -v memory:/data IMAGE` does what `make run` does.
FROM python:3.11-slim-bookworm AS build
WORKDIR /app
COPY requirements.txt ./
COPY sdk ./sdk
RUN python -m venv .venv && .venv/bin/pip install --no-cache-dir -r requirements.txt

FROM python:3.11-slim-bookworm
RUN useradd --create-home --uid 10001 memory && install -d -o memory -g memory -m 0700 /data
WORKDIR /app
COPY --from=build /app/.venv ./.venv
COPY manage.py pyproject.toml ./
COPY sdk ./sdk
COPY memoryapp ./memoryapp
COPY templates ./templates
COPY static ./static
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1 HOST=0.0.0.0 PORT=8000 MEMORY_VAR_DIR=/data
USER memory
VOLUME /data
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/livez', timeout=3)"]
CMD ["python", "manage.py", "memory_run"]
