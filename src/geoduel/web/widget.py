"""The two panes inside a notebook: answers go straight to the study. Needs anywidget."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import GeoduelError, MissingExtraError
from .board import Board
from .numbers import as_json
from .pages import static
from .panes import Turned

try:
    import anywidget
    import traitlets
except ImportError:
    raise MissingExtraError("widgets need anywidget: pip install 'geoduel[notebook]'") from None

if TYPE_CHECKING:
    from ..study import Study

__all__ = ["DuelWidget"]

_RATER = "you"


class DuelWidget(anywidget.AnyWidget):
    """A study's questions in a notebook, as on the page.

    Its traits follow the study: ``answers``, the number of answers; ``best``, the best point as
    nested lists; ``progress``, as in `geoduel.web.Board.progress`. ``widget.observe`` and reactive
    notebooks see each change. Of one answer ``answers`` is the last trait to change.

    Parameters
    ----------
    study : Study
        The study; answers go straight to it.
    render : callable, optional
        ``render(point)`` returns what a pane shows, see `geoduel.web.content`.
    **options
        Arguments of `geoduel.web.Board`, such as ``question``.

    Raises
    ------
    MissingExtraError
        On import, if anywidget is not installed.

    Examples
    --------
    >>> import geoduel as gd
    >>> from geoduel.web import DuelWidget
    >>> widget = DuelWidget(gd.create_study(gd.Rotations(2), rng=0), lambda r: f"{r[0, 0]:.2f}")
    >>> widget.board.ask("you")["state"]
    'question'
    """

    _esm = (static("duel.js") + static("widget.js")).decode()
    # The notebook's own buttons and headings are none of ours.
    _css = f"@scope (.geoduel) {{ {static('style.css').decode()} }}"
    question = traitlets.Unicode().tag(sync=True)
    lang = traitlets.Unicode().tag(sync=True)
    answers = traitlets.Int(0).tag(sync=True)
    best = traitlets.List().tag(sync=True)
    progress = traitlets.Dict().tag(sync=True)

    def __init__(
        self, study: Study, render: Callable[[Any], Any] | None = None, **options: Any
    ) -> None:
        self.board = Board(study, render, solo=True, **options)
        super().__init__(question=self.board.question, lang=self.board.lang)
        self.on_msg(self._hear)
        self._follow()

    def _follow(self) -> None:
        """Tell those who observe the widget how far the study is."""
        self.best = as_json(self.board.study.recommend())
        self.progress = self.board.progress()
        self.answers = self.progress["answered"]

    def answer(self, action: str, body: dict[str, Any]) -> dict[str, Any]:
        """Do what the page asks the server for: ask, tell, undo, finish, history."""
        board, beyond = self.board, bool(body.get("beyond"))
        if action == "tell":
            counted = board.tell(
                int(body.get("id", -1)), str(body.get("answer")), _RATER, body.get("run")
            )
            self._follow()
            return board.ask(_RATER, beyond=beyond) | {"counted": counted}
        if action == "undo":
            found = board.undo(_RATER, body.get("id"), body.get("run"))
            if found is None:
                raise LookupError("there is no answer to take back")
            self._follow()
            return found
        if action == "finish":
            more = board.finish(board) if board.finish is not None else {}
            return {**board.outcome(_RATER), "files": False, "following": None, "more": more}
        if action == "history":
            return board.history(_RATER, int(body.get("start", 0)))
        return board.ask(_RATER, beyond=beyond)

    def pictures(self, reply: dict[str, Any]) -> dict[str, str]:
        """Return what the panes of a reply show, as data addresses: a notebook has no server."""
        found = {}
        for holder in (reply, *reply.get("duels", ())):
            for name, pane in _panes(holder):
                if pane["kind"] in ("text", "failed"):
                    continue
                if name == "best":
                    shown = self.board.best_content()
                else:
                    shown = self.board.shown(self.board.duel(holder["id"]), name)
                if shown is None:  # since the reply was made
                    continue
                one = shown.picture if isinstance(shown, Turned) else shown
                coded = base64.b64encode(one.data).decode()
                found[pane["url"]] = f"data:{one.media_type};base64,{coded}"
        return found

    def explain(self, reply: dict[str, Any]) -> dict[str, Any]:
        """Say in the place of what cannot be shown why: in a notebook the rater wrote `render`."""
        why = (self.board.trouble or "").strip().rpartition("\n")[2]
        for holder in (reply, *reply.get("duels", ())):
            for _, pane in _panes(holder):
                if pane["kind"] == "failed":
                    pane["text"] += f"\n{why}"
        return reply

    def _hear(self, _: Any, message: dict[str, Any], __: Any) -> None:
        to = message.get("number")
        try:
            reply = self.answer(message.get("action", ""), message.get("body") or {})
            reply, shown = self.explain(reply), self.pictures(reply)
            traits = {"answers": self.answers, "best": self.best, "progress": self.progress}
            self.send({"to": to, "reply": reply, "pictures": shown, "traits": traits})
        except LookupError as error:
            self.send({"to": to, "error": str(error), "status": 409})
        except (GeoduelError, TypeError, ValueError) as error:
            self.send({"to": to, "error": str(error), "status": 422})
        except Exception as error:  # the panes wait for a reply, whatever happened
            self.send({"to": to, "error": f"{type(error).__name__}: {error}", "status": 500})
            raise


def _panes(holder: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The panes of a reply with their sides, "left", "right", "1", "2", ..., and the best one's."""
    named = [(name, holder.get(name)) for name in ("left", "right", "best")]
    places = [(str(n), pane) for n, pane in enumerate(holder.get("panes") or (), 1)]
    return [(name, pane) for name, pane in named + places if pane is not None]
