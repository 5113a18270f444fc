"""The FastAPI application: pages, the HTTP interface, live progress."""

from __future__ import annotations

import asyncio
import json
import logging
import mimetypes
import re
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import StreamingResponse

from .._support.check import function, instance, positive, several, text, truth
from .._version import __version__
from ..errors import (
    ArgumentError,
    GeoduelError,
    ReplayError,
    StorageError,
    UnknownStudyError,
)
from ..study.names import rater_name
from .board import CANNOT, GRADED, RANKING, Board
from .guard import NAMED, OWNER, RATER, Guard, Rate, client_of, cookie
from .keys import Keys, Who
from .numbers import as_json
from .owner import agreement, answer_map, convergence
from .pages import STATIC, page, static
from .panes import Content, Turned, turned

__all__ = ["create_app"]

log = logging.getLogger("geoduel.web")

SOLO = "you"
"""Name of the only rater of a study for one."""
_PRIVATE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:; sandbox"
# Where the owner wants it, scripts run in a frame of an origin of its own, and reach nothing.
_SCRIPTS = f"{_PRIVATE} allow-scripts; script-src 'unsafe-inline'"
_FOREVER = "private, max-age=604800, immutable"
_BOM = "\ufeff"  # tells Excel that a table is UTF-8
_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})")
_MOST_LISTENERS = 200
_NEWCOMERS = 1 / 30, 60.0  # new names from one address: a second, and at once


class Ask(BaseModel):
    """Who asks for a question."""

    rater: str = Field("", max_length=200, description="Name; may be empty in a study for one.")
    beyond: bool = Field(False, description="Go on although the page has ended.")


class About(Ask):
    """What is about a run: nothing is done where the study is another one by now."""

    run: str | None = Field(None, max_length=64, description="The run that a question came with.")


class Tell(About):
    """An answer. With ``next`` the reply holds the next question."""

    id: int = Field(description="Number of the question.")
    answer: str = Field(
        pattern=rf"^(left|right|a|b|tie|skip|{CANNOT.pattern}|{GRADED.pattern}|{RANKING.pattern})$",
        max_length=16,
        description="A side, a point, tie or skip; of more than two points places, the best first. "
        "With 'slightly' or 'clearly' after a side: how much better it is. "
        "With 'infeasible' after a side or 'both': what cannot be.",
    )
    next: bool = True


class Undo(About):
    """Which answer to take back."""

    id: int | None = Field(
        None,
        description="Number of its question, as ``last`` says. "
        "If it is not the last answer any more, nothing is taken back.",
    )


class Join(BaseModel):
    """A name to answer by."""

    rater: str = Field(max_length=200, description="New in this study, unless the owner asks.")


class Act(About):
    """A button of an own page."""

    name: str = Field(max_length=40, description="What to do.")
    value: float | None = Field(None, allow_inf_nan=False, description="A number for it.")


class Reply(BaseModel):
    """What the page is sent; tests hold the dictionaries of a board to these models."""

    model_config = ConfigDict(extra="forbid")


class PaneReply(Reply):
    """One choice; ``url`` is relative to the study's address."""

    kind: Literal["image", "turned", "html", "audio", "video", "text", "failed"]
    url: str
    alt: str
    text: str | None = None
    scripts: bool | None = Field(None, description="Whether HTML may run scripts in its frame.")
    matched: bool | None = Field(None, description="Whether the louder of two is made quieter.")
    angle: float | None = Field(None, description="Radians to turn by, counter-clockwise.")
    width: int | None = None
    height: int | None = None


class RowReply(Reply):
    """A weight, an angle, a coordinate, or a row of a matrix; of categories the value."""

    name: str
    values: list[float | str]
    shown: list[str] = Field(description="The values as they are written.")
    unit: str


class NumbersReply(Reply):
    """The numbers of a point."""

    rows: list[RowReply]
    columns: list[str]
    words: str


class ProgressReply(Reply):
    """How far the study is; lengths are geodesic, angles in radians."""

    answered: int
    own: int = Field(description="Answers of the rater who asks; all of them in a study for one.")
    ties: int
    skips: int
    open: int
    raters: int
    remaining: int | None
    share: float | None
    uncertainty: float | None
    unit: str = Field(description="What lengths are shown in.")
    known: str = Field(description="The uncertainty in words.")
    finished: str | None


class QuestionReply(Reply):
    """A question (``state`` "question"), or why there is none ("wait", "finished")."""

    state: Literal["question", "wait", "finished"]
    run: str
    progress: ProgressReply
    last: int | None = Field(None, description="Number of the question that undo would ask again.")
    id: int | None = None
    role: str | None = None
    left: PaneReply | None = None
    right: PaneReply | None = None
    panes: list[PaneReply] | None = Field(None, description="Of more than two points.")
    ranking: bool | Literal["ends"] | None = Field(
        None, description="Whether these are to be ranked, or the best and the worst to be named."
    )
    strengths: bool | None = Field(None, description="Whether a strength is asked for.")
    infeasible: bool | None = Field(None, description="Whether a side may be told infeasible.")
    preload: list[str] = []
    retry_after: float | None = None
    reason: str | None = None
    counted: bool | None = Field(None, description="Whether the answer sent counts.")


class ErrorReply(Reply):
    """What every reply says whose status is 400 or more."""

    error: str


class JoinReply(Reply):
    """A name, and the addresses where it answers, relative to the server's."""

    rater: str
    token: str | None = Field(description="Lets its bearer answer by this name; null if all may.")
    page: str
    link: str = Field(description="The page with the token, to be given to the rater.")


class OwnReply(Reply):
    """What the rater who asks liked best."""

    pane: PaneReply | None
    numbers: NumbersReply


class OutcomeReply(Reply):
    """The best point so far, and what the study's owner lets the page say about it."""

    best: PaneReply | None = Field(description="Null if held back, or the numbers say it all.")
    numbers: NumbersReply | None
    own: OwnReply | None
    files: bool = Field(description="Whether the results can be downloaded.")
    progress: ProgressReply
    following: str | None = Field(None, description="Key of the study to go on with.")
    more: dict[str, Any] = {}


class AnsweredReply(Reply):
    """An answered question; ``when`` is in seconds since 1970."""

    id: int
    answer: str = Field(description="A side, tie or skip; or places, the best first.")
    when: float
    left: PaneReply | None = None
    right: PaneReply | None = None
    panes: list[PaneReply] | None = Field(None, description="Of more than two points.")


class HistoryReply(Reply):
    """Answered questions, the last first."""

    total: int
    start: int
    duels: list[AnsweredReply]


class SummaryReply(Reply):
    """What a study asks, where, how, and how far it is."""

    key: str
    title: str
    question: str
    manifold: str
    method: str
    solo: bool
    progress: ProgressReply
    note: str | None = Field(None, description="What is to be said of the study as a whole.")
    trouble: str | None = Field(None, description="Last error of `render`; for the owner alone.")


class Readers:
    """Threads for those who only look, so that those who answer find theirs free.

    Parameters
    ----------
    threads : int
        Things that are drawn or computed at once.
    each : int
        Requests that one client may have waiting.
    """

    def __init__(self, threads: int = 2, each: int = 32) -> None:
        self.pool, self.each = ThreadPoolExecutor(threads, "geoduel-readers"), each
        self.waiting: Counter[str] = Counter()

    async def run(self, request: Request, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``work(*arguments)`` once a thread was free."""
        client = client_of(request.scope)
        if self.waiting[client] >= self.each:
            raise HTTPException(429, "too many requests at once; slow down", {"retry-after": "1"})
        self.waiting[client] += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self.pool, partial(work, *arguments))
        finally:
            self.waiting[client] -= 1
            if not self.waiting[client]:
                del self.waiting[client]


class Hub:
    """The boards of a server, and what they share.

    Parameters
    ----------
    boards : sequence of Board
        The studies.
    solo, read_only : bool
        See `create_app`.
    find : callable, optional
        ``find(boards)`` returns all boards there are, given those known by their keys.
    """

    def __init__(
        self,
        boards: Sequence[Board],
        solo: bool,
        read_only: bool,
        find: Callable[[dict[str, Board]], list[Board]] | None = None,
    ) -> None:
        self._boards: dict[str, Board] = {}
        self.read_only, self.solo, self.listeners, self.find = read_only, solo, 0, find
        self._add(boards)

    def _add(self, boards: Sequence[Board]) -> None:
        for board in boards:
            if board in self._boards.values():
                continue
            key, n = board.key, 2
            while key in self.boards:
                key, n = f"{board.key}-{n}", n + 1
            board.key = key
            if board.solo is None:
                board.solo = self.solo
            self._boards[key] = board

    @property
    def boards(self) -> dict[str, Board]:
        """The boards that are open, by key."""
        return {key: board for key, board in self._boards.items() if not board.closed}

    def present(self) -> list[Board]:
        """Return all boards, also those of studies that are new in the storage."""
        if self.find is not None:
            self._add(self.find(self._boards))
        return list(self.boards.values())

    def open_to(self, state: dict[str, Any]) -> dict[str, Board]:
        """Return the boards that a request may see: a study for one is the owner's alone."""
        if state["role"] == OWNER:
            return self.boards
        boards = {key: board for key, board in self.boards.items() if not board.solo}
        named = boards if state["role"] == RATER else {key for key, _ in state["names"]}
        return {key: board for key, board in boards.items() if key in named}

    async def holds(self, who: Who) -> bool:
        """Whether a rater's own link is one of this study, and was not taken back.

        If it was, then at most about a second ago.
        """
        board = self._boards.get(who.study)
        if board is None:
            return True  # and opens no study
        if who.run != board.run and (who.run or not board.is_named_by_key):
            return False
        if board.links_are_old():
            with suppress(GeoduelError):  # then it is as it was
                await run_in_threadpool(board.read_links)
        return board.link(who.rater) == who.link

    def rater(self, board: Board, name: str, state: dict[str, Any]) -> str:
        """Return the rater's name, checked: only the owner may speak for everybody.

        Parameters
        ----------
        board : Board
            The study.
        name : str
            As it was given; may be empty where there is only one that the request can speak for.
        state : dict
            What the guard found out about the request.
        """
        own = sorted(rater for key, rater in state["names"] if key == board.key)
        if board.solo and name.strip() in ("", SOLO):
            return SOLO
        if not name.strip() and len(own) == 1:
            return own[0]
        rater = rater_name(name)
        if state["role"] != OWNER and rater not in own:
            raise HTTPException(403, "this takes the rater's own link")
        return rater

    def following(self, board: Board) -> str | None:
        """Return the key of the study after this one."""
        keys = list(self._boards)
        later = keys[keys.index(board.key) + 1 :]
        return next((key for key in later if not self._boards[key].closed), None)


def create_app(
    boards: Board | Iterable[Board],
    *,
    token: str | None = None,
    hosts: Iterable[str] = (),
    solo: bool | None = None,
    read_only: bool = False,
    rate: float = 10.0,
    title: str = "geoduel",
    find: Callable[[dict[str, Board]], list[Board]] | None = None,
    root: str = "",
    origin: str = "",
) -> FastAPI:
    """Return the application that serves some studies.

    Parameters
    ----------
    boards : Board or iterable of Board
        The studies.
    token : str, optional
        The owner's token; raters' links carry others, made from it. With None, everybody who
        reaches the server is the owner, which only suits an address that nobody else reaches.
    hosts : iterable of str
        Names the server is called by, besides ``localhost`` and addresses in numbers.
    solo : bool, optional
        One person answers and gives no name. By default where there is no token.
    read_only : bool
        Show studies, take no answers.
    rate : float
        Answers a second that one rater may give; ten times as many at once.
    title : str
        Name of the site.
    find : callable, optional
        Looks for studies that have come since: ``find(boards)`` returns all there are, given those
        known by their keys.
    root, origin : str
        Path and host name at which a proxy shows the server, such as "/duel" and "duels.example".

    Returns
    -------
    fastapi.FastAPI
        Guarded by `geoduel.web.guard.Guard`. Its OpenAPI description is at ``/api/openapi.json``,
        a page of it at ``/api``.

    Raises
    ------
    ArgumentError
        If there is no board.

    Examples
    --------
    >>> import geoduel as gd
    >>> app = create_app(Board(gd.create_study(gd.Sphere(3), rng=0)))
    >>> app.title
    'geoduel'
    """
    boards = [boards] if isinstance(boards, Board) else [*several(boards, "boards", "boards")]
    for board in boards:
        instance(board, "boards", Board, "a Board or several")
    if token is not None:
        text(token, "token")
    if find is not None:
        function(find, "find", "the boards")
    for name, value in {"title": title, "root": root, "origin": origin}.items():
        text(value, name)
    positive(rate, "rate")
    hosts = several(hosts, "hosts", "names")
    if not truth(read_only, "read_only") and not boards:
        raise ArgumentError("boards must hold at least one study, got none")
    alone = truth(token is None if solo is None else solo, "solo")
    hub = Hub(boards, alone, read_only, find)
    app = FastAPI(
        title=title,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        description="Ask for questions of a study and tell answers.",
    )
    keys = None if token is None else Keys(token)
    app.state.hub, app.state.keys, app.state.rates = hub, keys, Rate(rate, 10 * rate)
    app.state.newcomers, app.state.readers = Rate(*_NEWCOMERS), Readers()
    app.include_router(_api)
    app.include_router(_pages)
    app.add_exception_handler(Exception, _unexpected)
    app.add_exception_handler(GeoduelError, _known)
    app.add_exception_handler(StarletteHTTPException, _http)
    app.add_exception_handler(404, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_middleware(Guard, keys=keys, hosts=hosts, root=root, origin=origin, holds=hub.holds)
    return app


# -- the HTTP interface ----------------------------------------------------------------------------

_PROBLEMS = {
    400: "The body is no JSON, or its length no number",
    401: "A token is needed",
    403: "This is for somebody else, or comes from another site",
    404: "There is no such study, question or picture",
    408: "The body took too long",
    409: "Somebody has the name, or there is nothing to take back",
    413: "The body is too long",
    415: "The body is no application/json",
    421: "The host is none of the server's names",
    422: "A value is none that is expected",
    429: "Too many requests; the header Retry-After says for how many seconds to wait",
    500: "Something went wrong",
    503: "The storage, or the server, is too busy; see Retry-After",
}
_api = APIRouter(
    prefix="/api",
    responses={
        code: {"model": ErrorReply, "description": why + "."} for code, why in _PROBLEMS.items()
    },
    # The guard checks tokens; this says so in the description.
    dependencies=[Depends(HTTPBearer(auto_error=False, description="A token of some link."))],
)
_SHOWN: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The picture, sound, film or page.",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in ("image/*", "audio/*", "video/*", "text/html", "text/plain")
        },
    },
    206: {"description": "The part that the header Range asks for."},
    416: {"model": ErrorReply, "description": "There is no such part."},
}


def _file(media_type: str) -> Any:
    """Describe a reply that is a file, of JSON or not."""
    schema = {"type": "object" if media_type == "application/json" else "string"}
    return {200: {"description": "As described.", "content": {media_type: {"schema": schema}}}}


_pages = APIRouter(include_in_schema=False)


def _hub(request: Request) -> Hub:
    return request.app.state.hub


def _state(request: Request) -> dict[str, Any]:
    """What the guard found out about a request."""
    return request.scope["state"]


def _is_owner(request: Request) -> bool:
    return _state(request)["role"] == OWNER


# These take no time, and so no thread.
async def _owner(request: Request) -> None:
    if not _is_owner(request):
        raise HTTPException(403, "this is for the owner of the studies")


async def _board(key: str, request: Request) -> Board:
    board = _hub(request).open_to(_state(request)).get(key)
    if board is None:
        raise HTTPException(404, "there is no such study")
    return board


OneBoard = Annotated[Board, Depends(_board)]
Owner = Depends(_owner)


def _readers(request: Request) -> Readers:
    return request.app.state.readers


def _writer(request: Request, board: Board, body: Ask) -> str:
    """Return the checked name of a rater who may answer now."""
    if _hub(request).read_only:
        raise HTTPException(403, "this server only shows studies")
    rater = _hub(request).rater(board, body.rater, _state(request))
    if not request.app.state.rates.allow((board.key, rater)):
        raise HTTPException(429, "too many answers at once; slow down", {"retry-after": "1"})
    return rater


@_api.post("/studies/{key}/join", summary="Open a name")
def _join(board: OneBoard, body: Join, request: Request, response: Response) -> JoinReply:
    """Give a new name to whoever has the link for raters, or any name's link to the owner."""
    state, keys = _state(request), request.app.state.keys
    if _hub(request).read_only:
        raise HTTPException(403, "this server only shows studies")
    rater = rater_name(body.rater)
    if state["role"] == NAMED:
        raise HTTPException(403, "this takes the link for all raters")
    if (board.key, rater) not in state["names"]:
        if state["role"] == RATER and not request.app.state.newcomers.allow(
            client_of(request.scope)
        ):
            raise HTTPException(429, "many new names; wait a minute", {"retry-after": "30"})
        if not board.claim(rater):
            if not _is_owner(request):
                raise HTTPException(
                    409, "somebody has this name; take another one, or open that name's own link"
                )
            if rater not in (taken := board.holders(rater)):
                raise HTTPException(409, f"{taken[0]} has this name, or one that looks like it")
    if keys is not None and state["role"] == RATER:
        own = keys.cookie(board.who(rater))
        response.headers.append("set-cookie", cookie(request.scope, *own))
    return _link(request, board, rater)


@_api.post("/studies/{key}/revoke", summary="Take a rater's link back", dependencies=[Owner])
def _revoke(board: OneBoard, body: Join, request: Request) -> JoinReply:
    """Void the rater's link and return a new one; answers, and links of others, stay."""
    if _hub(request).read_only:
        raise HTTPException(403, "this server only shows studies")
    rater = rater_name(body.rater)
    board.revoke(rater)
    return _link(request, board, rater)


def _link(request: Request, board: Board, rater: str) -> JoinReply:
    """Return the rater's own link, as it is now."""
    keys, page = request.app.state.keys, f"s/{board.key}?{urlencode({'rater': rater})}"
    token = None if keys is None else keys.personal(*board.who(rater)[1:])
    link = page if token is None else f"{page}&token={token}"
    return JoinReply(rater=rater, token=token, page=page, link=link)


# Replies to raters are sent as they are: to check each against its model would take as long again.
@_api.post("/studies/{key}/ask", response_model=QuestionReply, summary="Ask for a question")
def _ask(board: OneBoard, body: Ask, request: Request) -> Response:
    """Return the rater's present question; asking again returns the same one."""
    rater = _writer(request, board, body)
    return JSONResponse(board.ask(rater, beyond=body.beyond))


@_api.post("/studies/{key}/tell", response_model=QuestionReply, summary="Tell an answer")
def _tell(board: OneBoard, body: Tell, request: Request) -> Response:
    """Store an answer. Another answer to the question changes nothing, and does not count."""
    rater = _writer(request, board, body)
    counted = board.tell(body.id, body.answer, rater, body.run)
    if not body.next:
        reply = {"state": "wait", "run": board.run, "progress": board.progress()}
    else:
        reply = board.ask(rater, beyond=body.beyond)
    return JSONResponse(reply | {"counted": counted})


@_api.post("/studies/{key}/undo", response_model=QuestionReply, summary="Take the last answer back")
def _undo(board: OneBoard, body: Undo, request: Request) -> Response:
    """Take back the rater's last answer and ask its question again; with ``id`` at most once."""
    rater = _writer(request, board, body)
    reply = board.undo(rater, body.id, body.run)
    if reply is None:
        raise HTTPException(409, "there is no answer to take back")
    return JSONResponse(reply)


@_api.post("/studies/{key}/finish", summary="End with the best point so far")
def _finish(board: OneBoard, body: Ask, request: Request) -> OutcomeReply:
    """Return the best point so far. In `geoduel level` this saves the photo."""
    rater, alone = _writer(request, board, body), bool(board.solo)
    return OutcomeReply(
        **board.outcome(rater, everything=alone or _is_owner(request)),
        following=_hub(request).following(board) if alone else None,
        more=board.finish(board) if alone and board.finish is not None else {},
    )


@_api.post("/studies/{key}/act", summary="Do what an own page offers")
def _act(board: OneBoard, body: Act, request: Request) -> OutcomeReply:
    """Do what a button of the page stands for, as saving the photo in `geoduel level`."""
    _writer(request, board, body)
    if not board.solo or board.act is None:
        raise HTTPException(404, "there is nothing else to do here")
    board.do(body.name, body.value, body.run)
    return _finish(board, body, request)


@_api.get("/studies", dependencies=[Owner], summary="List the studies")
def _studies(request: Request) -> list[SummaryReply]:
    """Return key, title and progress of each study."""
    return [SummaryReply(**told) for _, told in _told(_hub(request).present())]


@_api.get("/studies/{key}", summary="Describe a study")
def _study(board: OneBoard) -> SummaryReply:
    """Return what a study asks, where, how, and how far it is."""
    return SummaryReply(**_summary(board))


@_api.get("/studies/{key}/best", summary="Show the best point so far")
async def _best(board: OneBoard, request: Request) -> PaneReply:
    """Return the pane of the best point so far."""
    _shows_best(board, request)
    return PaneReply(**await _readers(request).run(request, board.best))


def _shows_best(board: Board, request: Request) -> None:
    if not (_is_owner(request) or board.results is True):
        raise HTTPException(403, "the owner of the study shows no results")


@_api.get(
    "/studies/{key}/best/{name}",
    response_class=Response,
    responses=_SHOWN,
    summary="Show what a pane of a best point refers to",
)
async def _best_shown(
    board: OneBoard,
    name: str,
    request: Request,
    rater: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Return the picture, sound, film or page of the best point, or of a rater's own."""
    if not rater:
        _shows_best(board, request)
    elif board.results or _is_owner(request):
        rater = _hub(request).rater(board, rater, _state(request))
    else:
        raise HTTPException(403, "the owner of the study shows no results")
    shown, named = await _readers(request).run(request, board.best_named, name, rater or None)
    if shown is None:
        raise HTTPException(404, "there is no such point, or it cannot be shown")
    return _content(request, shown, _FOREVER if named else "no-store", board.scripts)


@_api.get(
    "/studies/{key}/picture",
    response_class=Response,
    responses=_SHOWN,
    summary="Download the best point as it is shown, in full size",
)
async def _full(board: OneBoard, request: Request) -> Response:
    """Return the picture, sound, film, page or text of the best point as a file."""
    _shows_best(board, request)

    def draw() -> Content | None:
        shown = board.best_content(full=True)
        return turned(shown) if isinstance(shown, Turned) else shown

    shown = await _readers(request).run(request, draw)
    if shown is None:
        raise HTTPException(404, "the best point cannot be shown")
    reply = _content(request, shown, "no-store")
    name = f"{board.key}-best{mimetypes.guess_extension(shown.media_type) or ''}"
    reply.headers["content-disposition"] = f'attachment; filename="{name}"'
    return reply


@_api.get("/studies/{key}/result", dependencies=[Owner], summary="See the results")
async def _result(board: OneBoard, request: Request) -> dict[str, Any]:
    """Return the best point and what some raters liked best, with what the page shows of each."""
    return await _readers(request).run(request, board.result, True, 12)


@_api.get(
    "/studies/{key}/result.json",
    dependencies=[Owner],
    response_class=Response,
    responses=_file("application/json"),
    summary="Download the results",
)
async def _result_json(board: OneBoard, request: Request) -> Response:
    """Return the best point and what each rater liked best."""
    found = await _readers(request).run(request, board.result)
    text = json.dumps(found, indent=1, allow_nan=False)
    return _download(text, "application/json", f"{board.key}-result.json")


@_api.get(
    "/studies/{key}/result.csv",
    dependencies=[Owner],
    response_class=Response,
    responses=_file("text/csv"),
    summary="Download the results as a table",
)
async def _result_csv(board: OneBoard, request: Request) -> Response:
    """Return the numbers of the best point and of what each rater liked best."""
    table = await _readers(request).run(request, board.result_table)
    return _download(_BOM + table, "text/csv; charset=utf-8", f"{board.key}-result.csv")


@_api.get("/studies/{key}/recommend", dependencies=[Owner], summary="Return the best point so far")
def _recommend(board: OneBoard) -> dict[str, Any]:
    """Return the numbers of the best point so far."""
    return {"point": as_json(board.study.recommend()), "progress": board.progress()}


@_api.get("/studies/{key}/history", summary="Look back")
async def _history(
    board: OneBoard,
    request: Request,
    rater: Annotated[str, Query(max_length=200)] = "",
    start: Annotated[int, Query(ge=0)] = 0,
) -> HistoryReply:
    """Return answered questions, the last first: one rater's, or all of them for the owner."""
    everyone = not rater and _is_owner(request)
    name = None if everyone else _hub(request).rater(board, rater, _state(request))
    return HistoryReply(**await _readers(request).run(request, board.history, name, start))


@_api.get("/studies/{key}/agreement", dependencies=[Owner], summary="Compare the raters")
async def _agreement(board: OneBoard, request: Request) -> dict[str, Any]:
    """Return how raters agree with the result, each other and themselves."""
    return await _readers(request).run(request, agreement, board)


@_api.get("/studies/{key}/convergence", dependencies=[Owner], summary="See it converge")
async def _convergence(board: OneBoard, request: Request) -> dict[str, Any]:
    """Return curves over the number of answers."""
    return await _readers(request).run(request, convergence, board)


@_api.get("/studies/{key}/map", dependencies=[Owner], summary="See where the choices lay")
async def _map(board: OneBoard, request: Request) -> dict[str, Any]:
    """Return the answers in the plane."""
    return await _readers(request).run(request, answer_map, board)


@_api.get(
    "/studies/{key}/export.jsonl",
    dependencies=[Owner],
    response_class=Response,
    responses=_file("application/x-ndjson"),
    summary="Export the log",
)
def _export(board: OneBoard) -> Response:
    """Return the study's log as JSON lines, for `geoduel.import_study`."""
    return _download(board.study.export(), "application/x-ndjson", f"{board.key}.jsonl")


@_api.get(
    "/studies/{key}/export.csv",
    dependencies=[Owner],
    response_class=Response,
    responses=_file("text/csv"),
    summary="Export a table",
)
def _table(board: OneBoard) -> Response:
    """Return all questions and answers as a table."""
    return _download(_BOM + board.table(), "text/csv; charset=utf-8", f"{board.key}.csv")


@_api.get(
    "/studies/{key}/duels/{duel_id}/{side}",
    response_class=Response,
    responses=_SHOWN,
    summary="Show a choice",
)
async def _side(board: OneBoard, duel_id: int, side: str, request: Request) -> Response:
    """Return the picture, sound, film or page on one side of a question to whom it is asked."""
    own = {rater for key, rater in _state(request)["names"] if key == board.key}
    owner = _is_owner(request)

    def show() -> Content | Turned | None:
        duel = board.duel(duel_id)
        if not (owner or duel.rater in {None, *own}):
            raise ArgumentError(f"there is no question {duel_id}")
        return board.shown(duel, side)

    try:
        at_once = board.is_drawn(duel_id, side)
        shown = show() if at_once else await _readers(request).run(request, show)
    except ArgumentError as error:
        raise HTTPException(404, str(error)) from None
    if shown is None:
        raise HTTPException(404, "this choice cannot be shown")
    return _content(request, shown, _FOREVER, board.scripts)


@_api.get(
    "/studies/{key}/pictures/{digest}",
    response_class=Response,
    responses=_SHOWN,
    summary="Show a picture",
)
async def _picture(board: OneBoard, digest: str, request: Request) -> Response:
    """Return a picture that the browser turns."""
    found = board.picture(digest)
    if found is None:  # after a restart nothing has been drawn yet
        await _readers(request).run(request, board.best)
        found = board.picture(digest)
    if found is None:
        raise HTTPException(404, "there is no such picture")
    return _content(request, found, _FOREVER)


@_api.get(
    "/events",
    dependencies=[Owner],
    response_class=StreamingResponse,
    responses=_file("text/event-stream"),
    summary="Follow along",
)
async def _events(request: Request) -> Response:
    """Stream each study's summary as it changes (server-sent events)."""
    hub = _hub(request)
    if _state(request)["head"]:
        return Response(media_type="text/event-stream")
    if hub.listeners >= _MOST_LISTENERS:
        raise HTTPException(503, "too many listeners")

    async def stream() -> AsyncIterator[str]:
        hub.listeners += 1
        sent: dict[str, str] = {}
        quiet = 0.0
        try:
            yield "retry: 2000\n\n"
            while True:
                told = []
                with suppress(StorageError):  # which may be there again in a moment
                    told = await run_in_threadpool(_told, hub.boards.values())
                for board, summary in told:
                    text = json.dumps(summary)
                    if sent.get(board.key) != text:
                        sent[board.key], quiet = text, 0.0
                        yield f"data: {text}\n\n"
                if quiet >= 15:
                    quiet = 0.0
                    yield ": still here\n\n"
                await asyncio.sleep(0.5)
                quiet += 0.5
        finally:
            hub.listeners -= 1

    return StreamingResponse(stream(), media_type="text/event-stream")


def _summary(board: Board) -> dict[str, Any]:
    study = board.study
    return {
        "key": board.key,
        "title": board.title,
        "question": board.question,
        "manifold": str(study.manifold),
        "method": study.method_name,
        "solo": bool(board.solo),
        "progress": board.progress(),
        "note": study.note,
    }


def _told(boards: Iterable[Board]) -> list[tuple[Board, dict[str, Any]]]:
    """Boards and what the owner is told of each; one that fails takes no other along."""
    told = []
    for board in boards:
        try:
            told.append((board, _summary(board) | {"trouble": board.trouble}))
        except StorageError:  # of all of them
            raise
        except (UnknownStudyError, ReplayError) as error:  # it is gone, or another one
            _close(board, error)
        except Exception:  # the method's own
            board.fails(traceback.format_exc())
    return told


def _close(board: Board, why: Exception) -> None:
    board.closed = True
    log.error("study %r is no longer shown: %s", board.study.name, why)


def _content(
    request: Request, shown: Content | Turned, cache: str, scripts: bool = False
) -> Response:
    """Return what is shown, or the part of it that is asked for: Safari plays nothing else."""
    one = shown.picture if isinstance(shown, Turned) else shown
    media_type = one.media_type
    if media_type.startswith("text/"):
        media_type += "; charset=utf-8"
    headers = {"cache-control": cache, "accept-ranges": "bytes"}
    if not one.media_type.startswith(("audio/", "video/")):
        # What render wrote may hold scripts; alone in its frame it may do nothing.
        policy = _SCRIPTS if scripts and one.kind == "html" else _PRIVATE
        headers["content-security-policy"] = f"{policy}; frame-ancestors 'self'"
    size = len(one.data)
    part = _part(request, size)
    if part is None:
        return Response(one.data, media_type=media_type, headers=headers)
    if not part:
        raise HTTPException(416, f"there are {size} bytes", {"content-range": f"bytes */{size}"})
    headers["content-range"] = f"bytes {part[0]}-{part[-1]}/{size}"
    return Response(one.data[part.start : part.stop], 206, media_type=media_type, headers=headers)


def _part(request: Request, size: int) -> range | None:
    """Return which bytes are asked for; None for all, as where several parts are."""
    asked = _RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    # Nothing here has a name of its version, which `If-Range` would have to be.
    if asked is None or not any(asked.groups()) or "if-range" in request.headers:
        return None
    first, last = asked.groups()
    if not first:
        return range(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(size, int(last) + 1) if last else size)


def _download(text: str, media_type: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=media_type, headers=headers)


# -- pages -----------------------------------------------------------------------------------------


@_pages.get("/")
def _home(request: Request) -> Response:
    hub, state = _hub(request), _state(request)
    boards, owner = hub.open_to(state), _is_owner(request)
    if state["role"] == NAMED:
        own = sorted(pair for pair in state["names"] if pair[0] in boards)
        if own:
            return _go(request, f"/s/{own[0][0]}?{urlencode({'rater': own[0][1]})}")
        raise HTTPException(404, "there is no study")
    if boards and not hub.read_only and (not owner or all(b.solo for b in boards.values())):
        return _go(request, f"/s/{next(iter(boards))}")
    if not owner:
        raise HTTPException(404, "there is no study")
    return _go(request, "/owner")


@_pages.get("/s/{key}")
def _duels(board: OneBoard, request: Request, rater: str = "") -> Response:
    hub, state = _hub(request), _state(request)
    keys = list(hub.open_to(state))
    if hub.read_only:
        return _go(request, "/owner")
    own = sorted(name for key, name in state["names"] if key == board.key)
    wrong = False
    try:
        name = rater_name(rater) if rater.strip() else SOLO if board.solo else ""
    except ArgumentError:
        name, wrong = "", True
    if not name or not (_is_owner(request) or name in own):
        if name and state["role"] == NAMED:
            raise HTTPException(403, "this takes the rater's own link")
        more = {"names": own, "joins": state["role"] == RATER}
        return _html(request, "name.html", board=board, wrong=wrong, rater=name, **more)
    place, total, owner = keys.index(board.key) + 1, len(keys), _is_owner(request)
    link = _link(request, board, name).link if name in own else ""
    more = {"place": place, "total": total, "owner": owner, "link": link}
    reply = _html(request, board.page, board=board, rater=name, **more)
    if name in own:  # stays from now on, also where one came by an older cookie
        kept = request.app.state.keys.cookie(board.who(name))
        reply.headers.append("set-cookie", cookie(request.scope, *kept))
    return reply


@_pages.get("/owner", dependencies=[Owner])
def _owner_page(request: Request) -> Response:
    hub, keys = _hub(request), request.app.state.keys
    link = f"?token={keys.rater}" if keys is not None else ""
    boards = [{"board": board, "summary": told} for board, told in _told(hub.present())]
    return _html(request, "owner.html", boards=boards, link=link, read_only=hub.read_only)


@_pages.get("/api")
def _reference(request: Request) -> Response:
    return _html(request, "api.html", api=request.app.openapi())


@_pages.get("/static/{name}")
def _static(name: str) -> Response:
    if name not in STATIC:
        raise HTTPException(404, "there is no such file")
    return Response(static(name), media_type=STATIC[name], headers={"cache-control": "no-cache"})


@_pages.get("/favicon.ico")
def _favicon() -> Response:
    return _static("icon.svg")


def _html(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    root, site = _state(request)["root"], request.app.title
    return HTMLResponse(page(template, root=root, site=site, **values), status)


def _go(request: Request, place: str) -> Response:
    return RedirectResponse(_state(request)["root"] + place, 303)


# -- errors: a clear sentence, nothing of the inside -----------------------------------------------


def _problem(request: Request, status: int, why: str, headers: Any = None) -> Response:
    page = "text/html" in request.headers.get("accept", "")
    if page and not request.scope["path"].startswith("/api/"):
        title = "Not found" if status == 404 else "Sorry"
        reply: Response = _html(
            request, "message.html", status, title=title, message=why, form=False
        )
    else:
        reply = JSONResponse({"error": why}, status)
    reply.headers.update(headers or {})
    return reply


async def _http(request: Request, error: Any) -> Response:
    why = "there is no such page" if error.detail == "Not Found" else str(error.detail)
    return _problem(request, error.status_code, why, error.headers)


async def _invalid(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return _problem(request, 422, f"{where or 'body'}: {first['msg']}")


async def _known(request: Request, error: Any) -> Response:
    if isinstance(error, StorageError):
        log.error("storage: %s", error)
        why = "the study's database fails; the server's log says why"
        return _problem(request, 503, why, {"retry-after": "2"})
    board = _hub(request).boards.get(request.path_params.get("key", ""))
    if isinstance(error, UnknownStudyError) and board is not None:  # deleted meanwhile
        _close(board, error)
        return _problem(request, 404, "there is no such study")
    if isinstance(error, ArgumentError):
        return _problem(request, 422, str(error))
    log.exception("unexpected", exc_info=error)
    return _problem(request, 500, "something went wrong; the server's log says more")


async def _unexpected(request: Request, _: Exception) -> Response:
    # The server writes the error itself to its log.
    return _problem(request, 500, "something went wrong; the server's log says more")
