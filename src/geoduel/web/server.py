"""Run the application: find a port, say where it is, stop cleanly."""

from __future__ import annotations

import contextlib
import importlib.util
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..errors import ArgumentError, GeoduelError, MissingExtraError

if TYPE_CHECKING:
    from ..study import Study
    from .board import Board

__all__ = ["dashboard", "load_study_file", "run", "serve", "web_extra"]

PORT = 8642
AGAIN = 10.0  # seconds until a study that could not be read is tried again
"""The port to try first."""
_SHORTEST_TOKEN = 12


def serve(
    study: Study | Board | Iterable[Board],
    render: Callable[[Any], Any] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    hosts: Iterable[str] = (),
    solo: bool | None = None,
    browser: bool = False,
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
        Address to listen at. Beyond this machine (anything but a loopback address) a token guards
        the page, and raters are asked for their names.
    port : int, optional
        By default 8642 or, if that is taken, any free one.
    token : str, optional
        The owner's token, at least 12 characters. Beyond this machine one is made if none is given.
    hosts : iterable of str
        Names the server may be called by, besides localhost and addresses in numbers.
    solo : bool, optional
        One person answers and gives no name. By default where there is no token.
    browser : bool
        Open a browser.
    **options
        Arguments of `geoduel.web.Board`, such as ``question`` and ``accuracy``. Only with a study.

    Raises
    ------
    ArgumentError
        If the token is too short, or options come with boards.
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

    if isinstance(study, Study):
        boards = [Board(study, render, **options)]
    elif options or render is not None:
        raise ArgumentError(f"render and options come with a study, got {type(study).__name__}")
    else:
        boards = [study] if isinstance(study, Board) else list(study)
    token = _checked(token, host)
    names = {*hosts, host, _name(host)}
    run(create_app(boards, token=token, hosts=names, solo=solo), host, port, token, browser)


def dashboard(
    storage: str,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    browser: bool = False,
) -> None:
    """Show all studies of a storage, live, until Ctrl-C; takes no answers.

    Parameters
    ----------
    storage : str
        URL of the storage, such as ``sqlite:///duels.db``.
    host, port, token, browser
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

    place = SQLStorage(storage, create=False)
    token = _checked(token, host)
    broken: dict[str, float] = {}  # when to try again

    def find(known: dict[str, Board]) -> list[Board]:
        boards = {board.study.name: board for board in known.values()}
        for name in study_names(place):
            if name in boards or time.monotonic() < broken.get(name, 0.0):
                continue
            try:
                boards[name] = Board(load_study(name, place))
            except GeoduelError as error:  # others can still be shown
                if name not in broken:
                    print(f"geoduel: {name} is left out: {error}", file=sys.stderr, flush=True)
                broken[name] = time.monotonic() + AGAIN
        return list(boards.values())

    names = {host, _name(host)}
    app = create_app(find({}), token=token, hosts=names, read_only=True, find=find)
    run(app, host, port, token, browser, path="/owner")


def load_study_file(place: str) -> tuple[Any, Any]:
    """Run a Python file and return a study (or boards) of it, and its ``render``.

    Parameters
    ----------
    place : str
        ``FILE.py:NAME``.

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

    file, _, name = place.rpartition(":")
    if not file.endswith(".py") or not name:
        raise ArgumentError(f"the study must be given as FILE.py:NAME, got {place!r}")
    if not Path(file).is_file():
        raise ArgumentError(f"{file} is not a file")
    spec = importlib.util.spec_from_file_location("geoduel_study_file", file)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{file} cannot be run")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(file).resolve().parent))  # its neighbours can be imported
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise ArgumentError(f"{file} defines no {name!r}")
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
) -> None:
    """Run an application until Ctrl-C; print the address where people find it."""
    import uvicorn

    from .guard import rater_token

    with _listen(host, port) as listener:
        number = listener.getsockname()[1]
        address = f"http://{_name(host)}:{number}"
        owner = f"{address}{path}" + (f"?token={quote(token)}" if token else "")
        print(f"Open {owner}", flush=True)
        if token:
            print(f"For raters: {address}/?token={rater_token(token)}", flush=True)
        print("Ctrl-C ends it.", flush=True)
        if browser:
            # The browser takes longer to start than the server; the socket listens already.
            threading.Thread(target=_open_browser, args=(owner,), daemon=True).start()
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            limit_concurrency=1000,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=75,
        )
        with contextlib.suppress(KeyboardInterrupt):  # the usual end
            uvicorn.Server(config).run(sockets=[listener])


def _checked(token: str | None, host: str) -> str | None:
    """Return the token, or a new one where one is needed."""
    from .guard import is_loopback

    if token is not None and len(token) < _SHORTEST_TOKEN:
        raise ArgumentError(f"token must have at least {_SHORTEST_TOKEN} characters")
    return secrets.token_urlsafe(24) if token is None and not is_loopback(host) else token


def _name(host: str) -> str:
    """Return what others call this machine when it listens at ``host``."""
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _listen(host: str, port: int | None) -> socket.socket:
    """Open a listening socket."""
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
    raise OSError(f"cannot listen at {host} port {numbers[-1]}: {reason}")


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
