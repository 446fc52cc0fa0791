"""Settings and limits of the server."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path

from wordsway.core.errors import InputError
from wordsway.data.catalogue import CATALOGUE
from wordsway.data.home import home
from wordsway.data.hub import is_hub_id
from wordsway.text.files import expanded

#: The default port, and how many more are tried if it is taken.
PORT, TRIES = 8421, 20


@dataclass(frozen=True)
class Limits:
    """Limits that keep the server responsive.

    Characters of a text, bytes of a request, requests that wait for one worker, seconds that a
    request may take, seconds of processor time and of wall-clock time that a worker may be silent
    after a cancellation, models in memory.
    """

    text: int = 8_000
    body: int = 64 * 1024
    queue: int = 24
    seconds: float = 180.0
    grace: float = 120.0
    hang: float = 600.0
    models: int = 3


@dataclass(frozen=True)
class Settings:
    """Where the server listens, which models and folders it may use.

    ``models`` are offered besides those of the catalogue: names, hub ids or folders. ``token`` is
    required wherever other machines could reach the server.

    >>> Settings().token is None, bool(Settings(host="0.0.0.0").token)
    (True, True)
    """

    host: str = "127.0.0.1"
    models: tuple[str, ...] = ()
    store: Path | None = None
    audits: Path = Path("out")
    limits: Limits = field(default_factory=Limits)
    token: str | None = None

    def __post_init__(self) -> None:
        for model in self.models:
            name = model.partition(":prompt=")[0]
            if not (name in CATALOGUE or is_hub_id(name) or expanded(name).is_dir()):
                known = ", ".join(one.name for one in CATALOGUE.values() if one.kind == "model")
                expected = f"a model ({known}), a Hugging Face id or a folder"
                raise InputError(expected, repr(model), "check the name or the path")
        if self.store is None:
            object.__setattr__(self, "store", home() / "page" / "cells")
        if self.token is None and not self.loopback:
            object.__setattr__(self, "token", secrets.token_urlsafe(24))

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def names(self, port: int) -> frozenset[str]:
        """Accepted values of the Host header, in lower case."""
        names = {"127.0.0.1", "localhost", "[::1]"}
        if not self.loopback:
            names |= {socket.gethostname().lower(), socket.getfqdn().lower(), *_addresses()}
        if self.host not in ("0.0.0.0", "::"):
            names.add(_in_url(self.host).lower())
        return frozenset(f"{name}:{port}" for name in names) | (
            frozenset(names) if port == 80 else frozenset()
        )

    def address(self, port: int) -> str:
        """The address to open in a browser on this machine."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::", "localhost") else self.host
        return f"http://{_in_url(host)}:{port}/" + (f"?token={self.token}" if self.token else "")


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _addresses() -> set[str]:
    try:
        found = socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        return set()
    return {_in_url(str(entry[4][0])) for entry in found}


def listening(host: str, port: int | None) -> socket.socket:
    """A listening socket on this port, or on the first free one."""
    wanted = [port] if port is not None else [*range(PORT, PORT + TRIES), 0]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reason = "no port was free"
    for number in wanted:
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, number))
            bound.listen(128)
        except OSError as error:
            bound.close()
            reason = error.strerror or str(error)
            continue
        bound.set_inheritable(False)
        return bound
    raise InputError(
        "an address to listen on",
        f"{host}:{wanted[0]} ({reason})",
        "choose another --port or --host",
    )
