"""Run the application: find a port, say where it is, stop cleanly."""

from __future__ import annotations

import contextlib
import importlib.util
import ipaddress
import json
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlsplit

from .._support.check import instance, positive_int, several, text, truth
from ..errors import ArgumentError, GeoduelError, MissingExtraError
from ..study.command import printable
from .numbers import as_json

if TYPE_CHECKING:
    from ..study import Study
    from .board import Board

__all__ = ["Front", "dashboard", "given_token", "load_study_file", "run", "serve", "web_extra"]

PORT = 8642
"""The port to try first."""
_AGAIN = 10.0  # seconds until a study that could not be read is tried again
_LOOPBACK = ("127.0.0.1", "::1")


@dataclass(frozen=True)
class Front:
    """The proxy that people reach the server by.

    Parameters
    ----------
    url : str
        Address at which it shows the server, without a slash at the end; "" if there is none.
    trusted : tuple of str
        Addresses or networks of proxies; these say who asks, and whether by HTTPS.
    """

    url: str = ""
    trusted: tuple[str, ...] = ()

    @classmethod
    def of(cls, url: str | None, trusted: Iterable[str] = ()) -> Front:
        """Check the arguments of `serve`."""
        trusted = several(trusted, "trust_proxy", "IP addresses or networks")
        for one in trusted:
            try:
                ipaddress.ip_network(text(one, "trust_proxy"))
            except ValueError:
                raise ArgumentError(
                    f"trust_proxy must be an IP address or a network, got {one!r}"
                ) from None
        if url is None:
            return cls("", trusted)
        text(url, "public_url")
        try:
            parts = urlsplit(url)
            good = parts.scheme in ("http", "https") and bool(parts.hostname)
            good = good and parts.port != 0 and not (parts.query or parts.fragment or "@" in url)
        except ValueError:
            good, parts = False, urlsplit("")
        first = parts.path.strip("/").partition("/")[0]
        if not good or first in ("api", "owner", "s", "static"):
            raise ArgumentError(
                "public_url must be an address such as https://duels.example/palette, whose path "
                f"does not begin with /api, /owner, /s or /static; got {url!r}"
            )
        return cls(url.rstrip("/"), trusted or _LOOPBACK)

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of `geoduel.web.create_app`."""
        parts = urlsplit(self.url)
        return {"root": parts.path, "origin": parts.netloc}

    @property
    def names(self) -> set[str]:
        """Names that the proxy is called by."""
        return {urlsplit(self.url).hostname or ""} - {""}


def serve(
    study: Study | Board | Iterable[Board],
    render: Callable[[Any], Any] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | Literal[False] | None = None,
    hosts: Iterable[str] = (),
    solo: bool | None = None,
    browser: bool = False,
    public_url: str | None = None,
    trust_proxy: Iterable[str] = (),
    **options: Any,
) -> None:
    """Serve the duel page of a study until Ctrl-C.

    Parameters
    ----------
    study : Study, Board or iterable of Board
        What to serve.
    render : callable, optional
        ``render(point)`` returns what a pane shows, see `geoduel.web.content`. Only with a
        study.
    host : str
        Address to listen at. Beyond this machine (anything but a loopback address) raters are asked
        for their names, and nothing is encrypted.
    port : int, optional
        By default 8642 or, if that is taken, any free one.
    token : str or False, optional
        The owner's token. By default a random one, which stays the same for the same studies: see
        `geoduel.web.keys.made_token`. A chosen one has at least 20 characters. False: everybody who
        reaches the server is the owner, which is refused beyond this machine.
    hosts : iterable of str
        Names the server may be called by, besides localhost and addresses in numbers.
    solo : bool, optional
        One person answers and gives no name. By default on this machine alone.
    browser : bool
        Open a browser.
    public_url : str, optional
        Address at which a proxy on this machine shows the server, such as
        "https://duels.example/palette".
    trust_proxy : iterable of str
        IP addresses or networks of proxies elsewhere. Proxies are believed who asks, and whether by
        HTTPS.
    **options
        Arguments of `geoduel.web.Board`, such as ``question``, ``accuracy``, ``answers``,
        ``labels`` and ``results``. Only with a study.

    Raises
    ------
    ArgumentError
        If the token is easy to guess or needed, if options come with boards, or if ``public_url``
        or ``trust_proxy`` is malformed.
    OSError
        If it cannot listen there.
    MissingExtraError
        If the extra ``web`` is not installed.

    Examples
    --------
    >>> import geoduel as gd
    >>> study = gd.create_study(gd.Rotations(2), storage="sqlite:///tilt.db")  # doctest: +SKIP
    >>> gd.serve(study, lambda r: turned_photo(r))  # doctest: +SKIP
    """
    with web_extra():
        from ..study import Study
        from .app import create_app
        from .board import Board
        from .guard import is_loopback

    if isinstance(study, Study):
        boards = [Board(study, render, **options)]
    elif isinstance(study, str):
        raise ArgumentError(f"study must be a Study, a Board or several, got {study!r:.80}")
    elif options or render is not None:
        given = ", ".join(options) or "render"
        raise ArgumentError(
            f"render and options such as {given} come with a study, got {type(study).__name__}; "
            "a Board has its own"
        )
    else:
        boards = [study] if not isinstance(study, Iterable) else list(study)
        for board in boards:
            instance(board, "study", Board, "a Study, a Board or several")
    truth(browser, "browser")
    front = Front.of(public_url, trust_proxy)
    studies = sorted(f"{board.study.storage.url} {board.study.name}" for board in boards)
    token = given_token(token, host, "\n".join(["serve", *studies]), front)
    if solo is None:
        solo = is_loopback(host) and not front.url
    names = {*several(hosts, "hosts", "names"), host, _name(host), *front.names}
    app = create_app(boards, token=token, hosts=names, solo=solo, **front.settings)
    lost = [board.study.name for board in boards if board.study.storage.url is None]
    if lost:
        print(
            f"geoduel: {printable(', '.join(lost))}: kept in memory alone, so Ctrl-C loses the "
            "answers; storage='sqlite:///NAME.db' of create_study keeps them",
            file=sys.stderr,
            flush=True,
        )
    run(app, host, port, token, browser, "/", front)
    for board in boards:
        with contextlib.suppress(GeoduelError):  # where the storage is away there is nothing to say
            if board.study.progress().answered:
                print(ending(board), flush=True)


def ending(board: Board) -> str:
    """Return what the terminal says of a study when its server has ended."""
    p, best = board.study.progress(), board.study.recommend()
    known = f"\nknown {found}" if (found := board.known(p.uncertainty)) else ""
    point = json.dumps(as_json(best))
    said = f"{p.answered} {'answer' if p.answered == 1 else 'answers'}"
    lines = f"{said}; the best point\n{board.numbers(best)}{known}\n{point}".split("\n")
    return "\n".join(map(printable, [f"{board.study.name}: {lines[0]}", *lines[1:]]))


def dashboard(
    storage: str,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | Literal[False] | None = None,
    browser: bool = False,
    public_url: str | None = None,
    trust_proxy: Iterable[str] = (),
) -> None:
    """Show all studies of a storage, live, until Ctrl-C; takes no answers.

    Parameters
    ----------
    storage : str
        URL of the storage, such as ``sqlite:///duels.db``.
    host, port, token, browser, public_url, trust_proxy
        As in `serve`.

    Raises
    ------
    GeoduelError
        If the storage cannot be opened or a study not be replayed.
    OSError
        If it cannot listen there.
    MissingExtraError
        If the extra ``web`` is not installed.
    """
    with web_extra():
        from ..study import load_study, study_names
        from ..study.storage import SQLStorage
        from .app import create_app
        from .board import Board

    truth(browser, "browser")
    front = Front.of(public_url, trust_proxy)
    place = SQLStorage(storage, create=False)
    token = given_token(token, host, f"dashboard\n{place.url}", front)
    broken: dict[str, tuple[str, float]] = {}  # why, and when to try again

    def find(known: dict[str, Board]) -> list[Board]:
        boards = {board.study.name: board for board in known.values() if not board.closed}
        for name in study_names(place):
            why, again = broken.get(name, ("", 0.0))
            if name in boards or time.monotonic() < again:
                continue
            try:
                boards[name] = Board(load_study(name, place))
            except GeoduelError as error:  # others can still be shown
                broken[name] = str(error), time.monotonic() + _AGAIN
                if why != str(error):
                    said = printable(f"geoduel: {name} is left out: {error}")
                    print(said, file=sys.stderr, flush=True)
        return list(boards.values())

    names = {host, _name(host), *front.names}
    app = create_app(
        find({}), token=token, hosts=names, read_only=True, find=find, **front.settings
    )
    run(app, host, port, token, browser, "/owner", front)


def load_study_file(place: str) -> tuple[Any, Any]:
    """Run a Python file and return a study (or boards) of it, and its ``render``.

    Parameters
    ----------
    place : str
        ``FILE.py:NAME``; the name is "study" if left out.

    Returns
    -------
    study : Study, Board or list of Board
        What the name stands for.
    render : callable or None
        The file's ``render``, for a study.

    Raises
    ------
    ArgumentError
        If there is no such file or name, or it is something else.
    """
    with web_extra():
        from ..study import Study
        from .board import Board

    file, _, name = (place, "", "study") if place.endswith(".py") else place.rpartition(":")
    if not file.endswith(".py") or not name:
        raise ArgumentError(f"the study must be given as FILE.py:NAME, got {place!r}")
    if not Path(file).is_file():
        raise ArgumentError(f"{file} is not a file")
    spec = importlib.util.spec_from_file_location("geoduel_study_file", file)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{file} cannot be run")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(file).resolve().parent))  # its neighbours can be imported
    try:
        spec.loader.exec_module(module)
    except GeoduelError:
        raise
    except Exception as error:  # in their own file, of which the last line run says where
        lines = [line for path, line, *_ in extract_tb(error.__traceback__) if path == spec.origin]
        if isinstance(error, SyntaxError):
            lines, error = [error.lineno], SyntaxError(error.msg)
        where = f"{file}, line {lines[-1]}" if lines else file
        raise ArgumentError(f"{where}: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        studies = [key for key, value in vars(module).items() if isinstance(value, Study)]
        known = f"; its studies are {', '.join(studies)}" if studies else " and no study"
        raise ArgumentError(f"{file} defines no {name!r}{known}")
    found = getattr(module, name)
    if isinstance(found, Study):
        return found, getattr(module, "render", None)
    boards = [found] if isinstance(found, Board) else found
    if not isinstance(boards, list | tuple) or not all(isinstance(b, Board) for b in boards):
        kind = type(found).__name__
        raise ArgumentError(f"{place} must be a Study, a Board or a list of Boards, got {kind}")
    return list(boards), None


def run(
    app: Any,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    browser: bool = False,
    path: str = "/",
    front: Front | None = None,
) -> None:
    """Run an application until Ctrl-C; print the address where people find it."""
    import uvicorn

    from .connections import HEAD_BYTES, limited
    from .guard import is_loopback

    front = front or Front()
    with _listen(host, port) as listener:
        here = f"http://{_name(host)}:{listener.getsockname()[1]}"
        address = front.url or here
        print(f"Open {address}{path}" + (f"?token={quote(token)}" if token else ""), flush=True)
        hub = app.state.hub if token else None
        if hub and not hub.read_only and any(not board.solo for board in hub.boards.values()):
            print(f"For raters: {address}/?token={app.state.keys.rater}", flush=True)
        if not is_loopback(host):
            print(
                "geoduel: nothing is encrypted, tokens and answers included; across a network you "
                "do not trust, put a proxy with HTTPS in front (--public-url)",
                file=sys.stderr,
                flush=True,
            )
        print("Ctrl-C ends it.", flush=True)
        if browser:
            # Others on this machine can read what starts a browser: its token opens once.
            ticket = f"?token={app.state.keys.ticket()}" if token else ""
            # The browser takes longer to start than the server; the socket listens already.
            threading.Thread(
                target=_open_browser, args=(f"{here}{path}{ticket}",), daemon=True
            ).start()
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            http=limited(trusted=front.trusted),
            h11_max_incomplete_event_size=HEAD_BYTES,
            proxy_headers=bool(front.trusted),
            forwarded_allow_ips=",".join(front.trusted),
            limit_concurrency=1000,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=30,
        )
        with contextlib.suppress(KeyboardInterrupt):  # the usual end
            uvicorn.Server(config).run(sockets=[listener])


def given_token(
    token: str | Literal[False] | None, host: str, purpose: str, front: Front | None = None
) -> str | None:
    """Return the owner's token, a made one by default; None where everybody may be the owner.

    Raises
    ------
    ArgumentError
        If the token is easy to guess, there is none where others can come, or the host is no name.
    """
    from .guard import is_loopback
    from .keys import checked_token, made_token

    text(host, "host")
    if token is None:
        return made_token(purpose)
    if token is not False:
        return checked_token(text(token, "token"))
    if not is_loopback(host) or (front is not None and front.url):
        raise ArgumentError("token can be False on this machine alone: others can come")
    return None


def _name(host: str) -> str:
    """Return what others call this machine when it listens at ``host``."""
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _listen(host: str, port: int | None) -> socket.socket:
    """Open a listening socket."""
    if port is not None and positive_int(port, "port", least=0) > 65535:
        raise ArgumentError(f"port must be at most 65535, got {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    numbers, reason = (PORT, 0) if port is None else (port,), ""
    for number in numbers:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(1024)
            return listener
        except OSError as error:
            listener.close()
            reason = error.strerror or str(error)
    raise OSError(f"cannot listen at host {host} port {numbers[-1]}: {reason}")


def _open_browser(address: str) -> None:
    with contextlib.suppress(webbrowser.Error):
        if webbrowser.open(address):
            return
    print("No browser could be opened; open the address yourself.", file=sys.stderr)


@contextlib.contextmanager
def web_extra() -> Iterator[None]:
    """Within it, a missing package is reported with the extra that brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "geoduel":
            raise
        raise MissingExtraError(
            f"the duel page needs {error.name}: pip install 'geoduel[web]'"
        ) from None
