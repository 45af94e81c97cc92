"""The scripted model server: OpenAI's chat, responses and embeddings protocols on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from oracleagentmemory.errors import StateError
from oracleagentmemory.testing import modelscript
from oracleagentmemory.testing.modelscript import ScriptedAnswer

_KIND_OF_PATH = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "chat",
    "/v1/embeddings": "embeddings",
}
_LARGEST_BODY = 64 * 1024 * 1024


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as the server got it; header names are in lower case."""

    kind: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class ScriptedModelServer:
    """Serves a script on a loopback port, to any client of the OpenAI protocols.

    The first line of the script that fits a request serves it and is used up, unless it repeats.
    When none fits, a standard answer does: a sentence that says so, the emptiest value of the
    asked JSON schema with that sentence for its texts, or vectors made from the words of the
    texts. Every answer names the model ``scripted``. Use it as a context manager::

        with ScriptedModelServer([ScriptedAnswer(text="hello")]) as server:
            Llm("openai/scripted", api_base=server.api_base, api_key="none").generate("hi")

    Attributes:
        requests: The requests so far, in the order of their arrival.
        most_at_once: The largest number of requests that were answered at the same time.
    """

    def __init__(self, script: Iterable[ScriptedAnswer] = (), *, port: int = 0) -> None:
        self.requests: list[ReceivedRequest] = []
        self.most_at_once = 0
        self._script = list(script)
        self._running = 0
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        try:
            self._http = _Server(("127.0.0.1", port), _Handler)
        except OSError as exc:
            raise StateError(f"port {port} cannot be used: {exc.strerror}") from exc
        self._http.owner = self

    @property
    def port(self) -> int:
        """The TCP port."""
        return int(self._http.server_address[1])

    @property
    def api_base(self) -> str:
        """What clients take as ``api_base``."""
        return f"http://127.0.0.1:{self.port}/v1"

    def add(self, *answers: ScriptedAnswer) -> None:
        """Append answers to the script."""
        with self._changed:
            self._script.extend(answers)

    def wait_for_requests(self, count: int, timeout: float = 30.0) -> bool:
        """Wait until `count` requests have arrived; tell whether they did in time."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.requests) >= count, timeout)

    def serve(self) -> None:
        """Serve in this thread until `close` is called by another, or Ctrl-C."""
        self._http.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        """Stop serving; answers that are held back are dropped."""
        self._closing.set()
        if self._thread is not None:
            self._http.shutdown()
            self._thread.join()
            self._thread = None
        self._http.server_close()

    def __enter__(self) -> ScriptedModelServer:
        self._thread = threading.Thread(target=self.serve, name="scripted-models", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _begin(self, request: ReceivedRequest) -> ScriptedAnswer:
        """Note a request and take the line of the script that serves it."""
        texts = "\n".join(modelscript.texts_of(request.kind, request.body))
        with self._changed:
            self.requests.append(request)
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
            self._changed.notify_all()
            for place, answer in enumerate(self._script):
                if answer.kind == request.kind and answer.when in texts:
                    return answer if answer.repeat else self._script.pop(place)
        return modelscript.default_answer(request.kind, request.body)

    def _hold(self, answer: ScriptedAnswer) -> None:
        if answer.until is not None:
            while not answer.until.wait(0.05) and not self._closing.is_set():
                pass
        if answer.delay_s:
            self._closing.wait(answer.delay_s)

    def _end(self) -> None:
        with self._changed:
            self._running -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # The five of the standard library are too few for callers that come all at once.
    request_queue_size = 128
    owner: ScriptedModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that hangs up is part of many a script."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "scripted-models"
    sys_version = ""

    def do_POST(self) -> None:
        kind = _KIND_OF_PATH.get(self.path)
        length = self.headers.get("Content-Length", "")
        if kind is None:
            return self._refuse(404, f"there is no {self.path}")
        if not length.isdecimal() or int(length) > _LARGEST_BODY:
            return self._refuse(413, "the body has no length or is too large")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError:
            return self._refuse(400, "the body is not JSON")
        if not isinstance(body, dict):
            return self._refuse(400, "the body is no JSON object")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._answer(ReceivedRequest(kind, self.path, headers, body))
        return None

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            model = {"id": modelscript.MODEL, "object": "model", "owned_by": modelscript.MODEL}
            content = json.dumps({"object": "list", "data": [model]}).encode()
            return self._send(200, "application/json", content)
        return self._refuse(404, f"there is no {self.path}")

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log: requests are kept by the server."""

    def _answer(self, request: ReceivedRequest) -> None:
        owner = self.server.owner
        answer = owner._begin(request)
        try:
            owner._hold(answer)
            if owner._closing.is_set():
                return
            kind, content = _content(request, answer)
            after = None if answer.retry_after is None else f"{answer.retry_after:g}"
            self._send(answer.status, kind, content, retry_after=after, cut=answer.cut_after)
        finally:
            owner._end()

    def _refuse(self, status: int, message: str) -> None:
        self._send(status, "application/json", json.dumps({"error": {"message": message}}).encode())

    def _send(
        self,
        status: int,
        kind: str,
        content: bytes,
        *,
        retry_after: str | None = None,
        cut: int | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(content if cut is None else content[:cut])


def _content(request: ReceivedRequest, answer: ScriptedAnswer) -> tuple[str, bytes]:
    if answer.raw is not None:
        return "application/json", answer.raw.encode()
    body = modelscript.answer_body(request.kind, request.path, answer, request.body)
    is_chat = request.path.endswith("/chat/completions")
    if not (is_chat and request.body.get("stream") and answer.status < 400):
        return "application/json", json.dumps(body).encode()
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in modelscript.stream_chunks(body)]
    return "text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode()
