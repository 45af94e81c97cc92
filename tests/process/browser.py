"""The little of a browser that a test of the running product needs."""

from __future__ import annotations

import re
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from email.message import Message
from http.cookiejar import CookieJar


@dataclass(frozen=True)
class Answer:
    """What came back, errors too."""

    status: int
    text: str
    headers: Message
    url: str


class Browser:
    """Keeps cookies, follows redirects and fills in the hidden token of forms."""

    def __init__(self, url: str) -> None:
        self._url = url
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(cookies)

    def get(self, path: str) -> Answer:
        return self._open(urllib.request.Request(self._url + path))

    def post(self, path: str, **fields: str) -> Answer:
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.get(path).text)
        assert token is not None, f"{path} has no form"
        body = urllib.parse.urlencode(fields | {"csrfmiddlewaretoken": token[1]}).encode()
        return self._open(urllib.request.Request(self._url + path, data=body))

    def log_in(self, name: str, password: str) -> None:
        login = urllib.parse.urlsplit(self.get("/").url)
        answer = self.post(f"{login.path}?{login.query}", username=name, password=password)
        assert answer.status == 200
        assert urllib.parse.urlsplit(answer.url).path == "/", answer.text

    def _open(self, request: urllib.request.Request) -> Answer:
        try:
            with self._opener.open(request, timeout=20) as response:
                return Answer(
                    response.status, response.read().decode(), response.headers, response.url
                )
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.read().decode(), error.headers, error.url)
