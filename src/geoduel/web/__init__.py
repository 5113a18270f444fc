"""The duel page: anyone can answer, in any browser. Needs the extra ``web``.

`serve` shows a study, `dashboard` the studies of a storage. Both serve a FastAPI application, which
`create_app` makes from boards (`Board`): a study, how to show its points, and what to ask.
"""

from typing import TYPE_CHECKING

from .._support.lazy import lazy

if TYPE_CHECKING:
    from .app import create_app
    from .board import Board
    from .panes import Content, Turned, content
    from .server import dashboard, serve
    from .widget import DuelWidget

__getattr__ = lazy(__name__, __file__)

__all__ = [
    "Board",
    "Content",
    "DuelWidget",
    "Turned",
    "content",
    "create_app",
    "dashboard",
    "serve",
]
