"""Embeddings from an OpenAI-compatible endpoint: each text is sent once, and every answer checked.

    POST URL/embeddings   {"model": NAME, "input": [TEXT, …], "encoding_format": "float"}
    200                   {"data": [{"index": 0, "embedding": [0.1, …]}, …]}

Vectors are kept on disk per URL, model and dimensions (`wordsway.models.cache`), so that a repeated
or resumed run sends nothing twice. Before stored vectors are used, a few of their texts are sent
again: a server with another model under the same name is refused. The key is read from the
environment for each request and stored nowhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import ipaddress
import json
import logging
import math
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Annotated, Any

import numpy as np

from wordsway.core.checks import Count, Natural, Positive, Within, validated
from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.core.progress import Progress, silent
from wordsway.models.cache import Cache

#: Texts of one request, requests under way at once, and attempts at one request.
BATCH, CONCURRENCY, ATTEMPTS = 64, 4, 6
#: Seconds: the first pause before another attempt (doubled each time), the longest pause, and the
#: longest wait for an answer.
PAUSE, LONGEST_PAUSE, TIMEOUT = 0.5, 60.0, 120.0
#: The largest answer that is read, in bytes.
LARGEST_ANSWER = 2**28
#: Status codes after which the same request may succeed.
TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
#: Characters per token of English text, roughly.
CHARACTERS_PER_TOKEN = 4
#: Stored texts that are sent again before stored vectors are used, seconds without an answer after
#: which this is repeated, and the relative distance of vectors up to which a server's model counts
#: as the same: half precision and the composition of batches explain about 0.01.
CHECKED, CHECK_AFTER, SAME_MODEL = 3, 10.0, 0.02

log = logging.getLogger("wordsway")


class EndpointError(WordswayError):
    """An endpoint that could not be reached, refused a request, or gave a wrong answer."""


@dataclass(frozen=True)
class EndpointForecast:
    """What a run would send: texts that are not stored yet, their characters, tokens roughly."""

    texts: int
    characters: int
    tokens: int
    stored: int

    def __str__(self) -> str:
        return (
            f"{self.texts:,} texts to send, {self.characters:,} characters, about "
            f"{self.tokens:,} tokens; {self.stored:,} texts are stored"
        )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuse redirects: the key and the texts go to the named host only."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Any,
        newurl: str,
    ) -> None:
        return None


class Endpoint:
    """An OpenAI-compatible ``/embeddings`` endpoint as an encoder of texts.

    Parameters
    ----------
    url : the base ("https://api.openai.com/v1") or the full address, ending in /embeddings
    model : the model's name at the endpoint
    key_env : the environment variable that holds the key; none is sent by default
    dimensions : the length of the vectors, for models that can shorten them
    max_texts : the number of new texts to send, over all calls of `encode`; refuse to send more
    allow_http : send texts over plain HTTP to hosts other than this machine
    fresh : remove the stored vectors of this endpoint and model at the first call of `encode`
    """

    @validated
    def __init__(
        self,
        url: str,
        model: str,
        key_env: str | None = None,
        dimensions: Count | None = None,
        *,
        max_texts: Natural | None = None,
        batch: Count = BATCH,
        concurrency: Annotated[int, Within(1, 64)] = CONCURRENCY,
        timeout: Positive = TIMEOUT,
        allow_http: bool = False,
        fresh: bool = False,
    ) -> None:
        self.url = _checked_url(url, allow_http)
        if not model.strip() or not model.isprintable():
            raise InputError("the model's name at the endpoint", repr(model), "pass model=NAME")
        if key_env is not None and not key_env.isidentifier():
            raise InputError("the name of an environment variable", repr(key_env), "pass its name")
        self.model, self.key_env, self.dimensions = model, key_env, dimensions
        self.max_texts, self.batch, self.concurrency = max_texts, batch, concurrency
        self.timeout, self.fresh = timeout, fresh
        #: Vectors from the server and from the store, and when the oldest of these was stored.
        self.sent, self.stored, self.oldest = 0, 0, math.inf
        self._fetched: set[str] = set()
        self._same_model, self._last_answer, self._failed_attempts = False, -math.inf, 0
        self.name = f"{model} at {urllib.parse.urlsplit(self.url).netloc}"
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if _is_loopback(urllib.parse.urlsplit(self.url).hostname or ""):
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r})"

    def describe(self) -> dict[str, Any]:
        """What a result records of the endpoint; the key is no part of it."""
        return {
            "name": self.name,
            "type": "endpoint",
            "url": self.url,
            "model": self.model,
            "dimensions": self.dimensions,
            "vectors_sent": self.sent,
            "vectors_stored": self.stored,
            "oldest_stored": _date(self.oldest) if self.stored else None,
        }

    @property
    def usage(self) -> str:
        """How many vectors came from the server and from the store so far."""
        said = f"{self.name}: {self.sent:,} vectors from the server, {self.stored:,} from the store"
        return f"{said} (the oldest of {_date(self.oldest)})" if self.stored else said

    def forecast(self, texts: Sequence[str]) -> EndpointForecast:
        """What `encode` would send; nothing is sent."""
        distinct = list(dict.fromkeys(texts))
        stored = self._stored(distinct)
        missing = [text for text in distinct if text not in stored]
        characters = sum(map(len, missing))
        tokens = math.ceil(characters / CHARACTERS_PER_TOKEN)
        return EndpointForecast(len(missing), characters, tokens, len(distinct) - len(missing))

    def encode(self, texts: Sequence[str], progress: Progress = silent) -> np.ndarray:
        """The embeddings (B, d) of texts in their order, in float64."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            raise InputError("at least one text", "none", "pass a list of texts")
        found = self._stored(distinct)
        missing = [text for text in distinct if text not in found]
        if self.max_texts is not None and self.sent + len(missing) > self.max_texts:
            raise InputError(
                f"at most {self.max_texts:,} texts to send (max_texts)",
                f"{len(missing):,} after {self.sent:,}",
                "measure fewer texts, or raise the limit; texts that were sent are stored",
            )
        if self.fresh:
            self._cache.clear()
            self.fresh = False
        self._check_model({text: found[text] for text in distinct if text in found})
        batches = [missing[at : at + self.batch] for at in range(0, len(missing), self.batch)]
        done = 0
        with ThreadPoolExecutor(self.concurrency) as pool:
            try:
                for sent, vectors in pool.map(lambda some: (some, self._ask(some)), batches):
                    fresh = dict(zip(sent, vectors[:, None], strict=True))
                    self._cache.write(fresh)
                    found |= fresh
                    self._fetched |= fresh.keys()
                    self.sent += len(sent)
                    done += len(sent)
                    progress(f"texts sent to {self.name}", done, len(missing))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        lengths = {one.shape[1] for one in found.values()}
        if len(lengths) != 1:
            raise EndpointError(
                f"{self.name} gave vectors of different lengths ({sorted(lengths)}): has its model "
                f"changed? Pass --fresh (fresh=True in Python) to send all texts again"
            )
        return np.concatenate([found[text] for text in texts]).astype(np.float64)

    def _stored(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        return {} if self.fresh else self._cache.read(texts)

    def _check_model(self, found: dict[str, np.ndarray]) -> None:
        """Send a few stored texts again; refuse if the server's vectors differ from the stored."""
        if time.monotonic() - self._last_answer > CHECK_AFTER:
            self._same_model = False
            self._fetched.clear()
        old = [text for text in found if text not in self._fetched]
        if not old:
            return
        if not self._same_model:
            some = old[:: -(-len(old) // CHECKED)]
            stored = np.concatenate([found[text] for text in some]).astype(np.float64)
            now = self._ask(some)
            apart = math.inf
            if now.shape == stored.shape:
                sizes = np.linalg.norm(stored, axis=1).clip(min=np.finfo(float).tiny)
                apart = float((np.linalg.norm(now - stored, axis=1) / sizes).max())
            if not apart <= SAME_MODEL:
                raise EndpointError(
                    f"{self.name} returns other vectors than those stored since "
                    f"{_date(self._cache.oldest(old))} (relative distance {apart:.2g}): its model "
                    "has changed. Pass --fresh (fresh=True in Python) to remove the stored vectors "
                    "and send all texts again"
                )
            self._same_model = True
        self.stored += len(old)
        self.oldest = min(self.oldest, self._cache.oldest(old))

    # ---------------------------------------------------------------------------------- requests

    def _ask(self, texts: Sequence[str]) -> np.ndarray:
        """The checked response to one request, retried after transient errors."""
        document: dict[str, Any] = {"model": self.model, "input": list(texts)}
        document["encoding_format"] = "float"
        if self.dimensions is not None:
            document["dimensions"] = self.dimensions
        body, key = json.dumps(document).encode(), self._key()
        reason, pause = "", PAUSE
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(min(pause, LONGEST_PAUSE))
                pause *= 2
            try:
                answer = self._post(body, key)
                self._last_answer, self._failed_attempts = time.monotonic(), 0
                return _vectors(answer, len(texts), self.dimensions)
            except urllib.error.HTTPError as error:
                reason = f"status {error.code}"
                if error.code not in TRANSIENT:
                    raise EndpointError(self._refused(error)) from None
                pause = max(pause, _retry_after(error.headers.get("Retry-After")))
            except _WrongAnswer as error:
                raise EndpointError(
                    f"{self.name} gave a wrong answer ({error}): none of it is used"
                ) from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                reason = self._without_key(first_line(error, 120))
            self._report_attempt(attempt + 1, reason)
        raise EndpointError(
            f"{self.name} did not answer in {ATTEMPTS} attempts ({reason}): check that it runs, "
            "then run the same call again; texts that were answered are stored"
        )

    def _report_attempt(self, attempt: int, reason: str) -> None:
        """Log a failed attempt, once for all requests that are under way."""
        if attempt > self._failed_attempts:
            self._failed_attempts = attempt
            log.warning(
                "%s: no answer, attempt %d of %d (%s)", self.name, attempt, ATTEMPTS, reason
            )

    def _post(self, body: bytes, key: str | None) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.url, body, headers, method="POST")
        with self._opener.open(request, timeout=self.timeout) as answer:
            content = answer.read(LARGEST_ANSWER + 1)
        if len(content) > LARGEST_ANSWER:
            raise _WrongAnswer(f"more than {LARGEST_ANSWER // 2**20} MiB")
        return json.loads(content)

    def _key(self) -> str | None:
        if self.key_env is None:
            return None
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise InputError(
                f"a key in the environment variable {self.key_env}",
                "none",
                f"set it: export {self.key_env}=…",
            )
        return key

    def _without_key(self, text: str) -> str:
        key = os.environ.get(self.key_env or "", "").strip()
        return text.replace(key, "***") if key else text

    def _refused(self, error: urllib.error.HTTPError) -> str:
        """A status that another attempt would not change, with the server's own reason."""
        with contextlib.suppress(Exception):
            said = json.loads(error.read(10_000))
            said = said.get("error", said) if isinstance(said, dict) else said
            message = said.get("message", "") if isinstance(said, dict) else said
            reason = self._without_key(first_line(message, 160))
            return f"{self.name} refused the request: status {error.code}, {reason}"
        where = " (a redirect, which is not followed)" if 300 <= error.code < 400 else ""
        return f"{self.name} refused the request: status {error.code}{where}"

    @cached_property
    def _cache(self) -> Cache:
        about = json.dumps([self.url, self.model, self.dimensions])
        return Cache("endpoints", hashlib.sha256(about.encode()).hexdigest()[:32])


class _WrongAnswer(Exception):
    """An answer with status 200 that does not answer the request."""


def _vectors(answer: Any, count: int, dimensions: int | None) -> np.ndarray:
    """The vectors (B, d) of an answer, ordered by their index.

    >>> answer = [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1]}]
    >>> _vectors({"data": answer}, 2, None).tolist()
    [[1.0], [2.0]]
    """
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        raise _WrongAnswer("no list of embeddings under data")
    if len(data) != count:
        raise _WrongAnswer(f"{len(data)} embeddings for {count} texts")
    order = [one.get("index") for one in data]
    if sorted(map(repr, order)) != sorted(map(repr, range(count))):
        raise _WrongAnswer("indices that are not 0, 1, 2, …, each once")
    rows = [one.get("embedding") for one in sorted(data, key=lambda one: one["index"])]
    if not all(isinstance(row, list) and row for row in rows):
        raise _WrongAnswer("an embedding that is not a list of numbers")
    if len({len(row) for row in rows}) != 1:
        raise _WrongAnswer("embeddings of different lengths")
    try:
        with np.errstate(over="ignore"):
            vectors = np.array(rows, dtype=np.float64).astype(np.float32)
    except (TypeError, ValueError):
        raise _WrongAnswer("an embedding that is not a list of numbers") from None
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise _WrongAnswer("an embedding with NaN or Inf")
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise _WrongAnswer(f"{vectors.shape[1]} dimensions instead of {dimensions}")
    return vectors


def _date(seconds: float) -> str:
    """A time since the epoch as UTC.

    >>> _date(0)
    '1970-01-01T00:00:00Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _retry_after(header: str | None) -> float:
    """Seconds that a server requests to wait; 0 if it gives no number that can be parsed."""
    try:
        seconds = float(header or 0)
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), LONGEST_PAUSE) if math.isfinite(seconds) else 0.0


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _checked_url(url: str, allow_http: bool) -> str:
    parts = urllib.parse.urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("an address such as https://host/v1", repr(url), "pass the endpoint's URL")
    if parts.username or parts.password or parts.query:
        raise InputError(
            "an address without a key, user or query",
            f"one for {parts.hostname}",
            "put the key into an environment variable and name it by key_env",
        )
    if parts.scheme == "http" and not (allow_http or _is_loopback(parts.hostname)):
        raise InputError(
            "https, or http to this machine",
            f"http to {parts.hostname}",
            "texts would travel unencrypted: use https, or in Python Endpoint(…, allow_http=True)",
        )
    path = parts.path.rstrip("/")
    path = path if path.endswith("/embeddings") else f"{path}/embeddings"
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, "", ""))
