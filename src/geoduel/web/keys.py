"""Links: what their tokens let people do, and how one tells nothing of another.

All tokens of a server follow from the owner's. The owner's is stretched first, slowly, and the
others are signatures with what comes of that. So nobody finds the owner's token from another one,
and nobody makes a link that the owner's server did not make.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import threading
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from .._support.files import state_folder, write_whole
from ..errors import ArgumentError

__all__ = ["NAMED", "OWNER", "RATER", "Keys", "Who", "checked_token", "made_token", "token_in"]

OWNER, RATER, NAMED = "owner", "rater", "named"
_SHORTEST, _FEWEST = 20, 8
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_TICKET = 120.0  # seconds in which a browser should start


class Who(NamedTuple):
    """Whom a token stands for.

    The owner; anyone who may open a new name; or one rater of one study, by a link with a number.
    The number counts the links that were taken back before it. The study is given by its key, which
    another one may have elsewhere, and by its run, which no other has; links of earlier versions
    lack the latter.
    """

    role: str
    study: str = ""
    rater: str = ""
    link: int = 0
    run: str = ""


class Keys:
    """The tokens of a server.

    Parameters
    ----------
    token : str
        The owner's.

    Attributes
    ----------
    owner, rater : str
        The owner's token, and the one in the link that all raters share.

    Examples
    --------
    >>> keys = Keys("of 192 random bits, usually")
    >>> keys.read(keys.personal("palette", "Ann"))
    Who(role='named', study='palette', rater='Ann', link=0, run='')
    >>> keys.read(keys.rater)
    Who(role='rater', study='', rater='', link=0, run='')
    """

    def __init__(self, token: str) -> None:
        self.owner, self._root = token, _stretch(token)
        self.rater = self._sign("rater")
        self._cookies = {role: self._sign("cookie", role) for role in (OWNER, RATER)}
        self._tickets: dict[str, float] = {}
        self._lock = threading.Lock()

    def personal(self, study: str, rater: str, link: int = 0, run: str = "") -> str:
        """Return the token of one rater's own link; it holds what `Who` does, signed."""
        number = f"\n{link}" if link > 0 or run else ""  # no name has a line break
        text = f"{study}/{rater}{number}" + (f"\n{run}" if run else "")
        coded = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return f"{coded}.{self._sign('name', text)}"

    def read(self, token: str) -> Who | None:
        """Return whom a token stands for, or None; takes as long for a wrong one as for another.

        Whether a rater's link was taken back is the study's to say.
        """
        if _same(token, self.owner):
            return Who(OWNER)
        if _same(token, self.rater):
            return Who(RATER)
        study, _, rest = _decoded(token.partition(".")[0]).partition("/")
        rater, _, rest = rest.partition("\n")
        number, _, run = rest.partition("\n")
        link = int(number) if _NUMBER.fullmatch(number) else 0
        genuine = _same(token, self.personal(study, rater, link, run))
        return Who(NAMED, study, rater, link, run) if genuine else None

    def ticket(self) -> str:
        """Return a token that lets the owner in once.

        What opens a browser can be read by others on the machine while the browser runs.
        """
        made = secrets.token_urlsafe(24)
        with self._lock:
            self._tickets[made] = time.monotonic() + _TICKET
        return made

    def redeem(self, ticket: str) -> bool:
        """Whether a ticket is good; it is void from now on."""
        with self._lock:
            return self._tickets.pop(ticket, 0.0) > time.monotonic()

    def cookie(self, who: Who) -> tuple[str, str]:
        """Return the ending of a cookie's name, and what it holds: not the owner's token."""
        if who.role == NAMED:
            ending = hashlib.sha256(f"{who.study}/{who.rater}".encode()).hexdigest()[:12]
            return f"-{ending}", self.personal(*who[1:])
        return "", self._cookies[who.role]

    def recall(self, value: str) -> Who | None:
        """Return whom a cookie stands for, or None."""
        for role, held in self._cookies.items():
            if _same(value, held):
                return Who(role)
        who = self.read(value)
        return who if who is not None and who.role == NAMED else None

    def _sign(self, *text: str) -> str:
        return hmac.new(self._root, "\0".join(text).encode(), hashlib.sha256).hexdigest()[:32]


def checked_token(token: str) -> str:
    """Return a token that is not too easy to guess, or raise an error that says what is wrong.

    Examples
    --------
    >>> checked_token("sunshine2024")
    Traceback (most recent call last):
    geoduel.errors.ArgumentError: token must have at least 20 characters, 8 different ones; ...
    """
    if len(token) < _SHORTEST or len(set(token)) < _FEWEST:
        raise ArgumentError(
            f"token must have at least {_SHORTEST} characters, {_FEWEST} different ones; without "
            "it, a random one is made"
        )
    return token


def made_token(purpose: str) -> str:
    """Return a token that nobody can guess, the same each time the user has the same purpose.

    Links and cookies so outlive the server. What makes it the user's is a random key, in the file
    ``link-key`` of the state folder. Once that file is deleted, all tokens are new.
    """
    folder = state_folder()
    key = None if folder is None else _key(folder / "link-key")
    if key is None:
        return secrets.token_urlsafe(24)
    made = hmac.new(key.encode(), purpose.encode(errors="surrogateescape"), hashlib.sha256)
    return base64.urlsafe_b64encode(made.digest()[:24]).decode()


def token_in(file: Path) -> str:
    """Return the token that a file holds; a file that does not exist is made, for its owner alone.

    Raises
    ------
    OSError
        If it can be neither read nor made.
    """
    with suppress(FileExistsError):
        write_whole(file, f"{secrets.token_urlsafe(24)}\n", overwrite=False, private=True)
    return file.read_text(encoding="utf-8", errors="surrogateescape").strip()


def _key(file: Path) -> str | None:
    """The user's key; None where none can be kept."""
    try:
        key, seen = token_in(file), file.stat()
        if os.name == "posix" and (seen.st_uid != os.getuid() or seen.st_mode & 0o077):
            file.unlink()  # others may have read it
            key = token_in(file)
    except OSError:
        return None
    return key if len(key) >= 32 else None


@lru_cache(8)
def _stretch(token: str) -> bytes:
    """What signs, in the token's place; 30 ms and 16 MB for each guess at a token."""
    salt = b"geoduel links, second form"
    return hashlib.scrypt(token.encode(errors="surrogateescape"), salt=salt, n=2**14, r=8, p=1)


def _decoded(coded: str) -> str:
    """Return the text of the first part of a personal token; "" if there is none."""
    try:
        return base64.b64decode(coded + "=" * (-len(coded) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _same(given: str, token: str) -> bool:
    """Compare in constant time, whatever was given."""
    return hmac.compare_digest(given.encode(errors="replace"), token.encode(errors="replace"))
