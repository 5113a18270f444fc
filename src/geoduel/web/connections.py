"""Connections: those that wait, or never ask, make room for those that ask.

A server without these limits serves nobody once enough connections stay open in silence. Here a
connection has some seconds to send the head of a request. Beyond a number of them, in all or from
one client, the one that has waited longest is closed: the newest is the likeliest to ask.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Collection
from typing import Any

from .guard import client_of

__all__ = ["HEAD_BYTES", "limited"]

MOST, MOST_EACH = 600, 200
HEAD_SECONDS, HEAD_BYTES = 10.0, 32_768


def limited(
    base: type[asyncio.Protocol] | None = None,
    *,
    trusted: Collection[str] = (),
    most: int = MOST,
    most_each: int = MOST_EACH,
    head_seconds: float = HEAD_SECONDS,
) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol with limits on connections.

    Parameters
    ----------
    base : type, optional
        The protocol of uvicorn, by default the one that uvicorn would take.
    trusted : collection of str
        Addresses of proxies: from these, any number may come.
    most, most_each : int
        Connections in all, and from each client.
    head_seconds : float
        Time for the head of a request.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    kind: Any = base or AutoHTTPProtocol
    proxies = {client_of({"client": (one, 0)}) for one in trusted}
    everyone: OrderedDict[Any, str] = OrderedDict()  # the one that asked last at the end
    count: Counter[str] = Counter()

    class Limited(kind):
        timer: asyncio.TimerHandle | None = None
        head = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            client = client_of({"client": self.client})
            everyone[self] = client
            count[client] += 1
            self.expect()
            if count[client] > most_each and client not in proxies:
                make_room(client)
            elif len(everyone) > most:
                make_room()

        def connection_lost(self, exc: Exception | None) -> None:
            forget(self)
            self.calm()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if not self.waits():
                self.calm()
                return
            self.expect()
            self.head += len(data)
            if self.head > HEAD_BYTES:
                self.transport.abort()

        def waits(self) -> bool:
            """Whether no request is under way."""
            return self.cycle is None or self.cycle.response_complete

        def expect(self) -> None:
            """Wait for the head of a request, from its first byte on."""
            if self.timer is None:
                self.timer = self.loop.call_later(head_seconds, self.give_up)

        def calm(self) -> None:
            """A request is there, or will never be."""
            self.head = 0
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            if self in everyone:
                everyone.move_to_end(self)

        def give_up(self) -> None:
            self.timer = None
            if self.waits():
                self.transport.abort()

    def make_room(client: str | None = None) -> None:
        """Close the connection that has waited longest, unless all are at work."""
        waiting = (one for one, whose in everyone.items() if client in (None, whose))
        one = next((one for one in waiting if one.waits()), None)
        if one is not None:
            one.transport.abort()
            forget(one)

    def forget(one: Limited) -> None:
        client = everyone.pop(one, None)
        if client is not None:
            count[client] -= 1
            if not count[client]:
                del count[client]

    return Limited
