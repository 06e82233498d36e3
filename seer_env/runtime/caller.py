"""Engines are for one thread of the program at a time: another one is refused, not made to wait."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from seer_env.errors import SeerError

if TYPE_CHECKING:
    from seer_env.model import EventModel

Method = TypeVar("Method", bound=Callable)


class OneCaller:
    """Base of what one thread of the program may use at a time."""

    def __init__(self, model: EventModel):
        self.model = model
        self._user = 0  # the thread that is inside, or 0

    def _claim(self) -> int:
        """Note that this thread uses the engine; returns who did before, to be put back.

        Plain words will do, as no thread switch and no signal comes between the test and the store.

        Raises:
            SeerError: another thread of the program is inside.
        """
        me = threading.get_ident()
        if self._user not in (0, me):
            raise SeerError(
                f"{self.model!r} is in use by another thread of this program: an env is for one thread at a "
                "time. Give each thread an env, or hold a lock around it."
            )
        user, self._user = self._user, me
        return user


def exclusive(method: Method) -> Method:
    """Refuse a second thread of the program while one is inside (`OneCaller._claim`)."""

    @functools.wraps(method)
    def guarded(self, *args, **kwargs):
        user = self._claim()
        try:
            return method(self, *args, **kwargs)
        finally:
            self._user = user

    return guarded  # type: ignore[return-value]  # a wrapper has the wrapped signature
