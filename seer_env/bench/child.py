"""Contenders in a process of their own: with another number of numba threads, or nothing else in memory."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from seer_env.bench.experiment import Contender, Measure

__all__ = ["Child"]


class Child:
    """A process that holds contenders and measures them when it is asked to.

    Args:
        make: a module's function that builds the contenders; called in the process.
        arguments: given to `make`, and then a stack of what is to be closed before the process ends.
        environment: variables that differ there, such as NUMBA_NUM_THREADS.
        parent: whether it may start processes itself; it then has to be closed before this process ends.

    Attributes:
        contenders: measures by contender; each is a request to the process.

    Raises:
        RuntimeError: the process ended before it had built them; its own error is on stderr.
    """

    def __init__(
        self,
        make: Callable[..., Mapping[Contender, Measure]],
        arguments: tuple[Any, ...] = (),
        environment: Mapping[str, str] | None = None,
        parent: bool = False,
    ):
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, make, arguments), daemon=not parent)
        before = dict(os.environ)
        os.environ.update(environment or {})
        try:
            self._process.start()
        finally:
            os.environ.clear()
            os.environ.update(before)
        theirs.close()
        names = self._receive()
        self.contenders: dict[Contender, Measure] = {
            Contender(*name): partial(self._ask, name) for name in names
        }

    def _ask(self, name: tuple[str, int]) -> Mapping[str, float]:
        self._pipe.send(name)
        return self._receive()

    def _receive(self) -> Any:
        try:
            return self._pipe.recv()
        except EOFError:
            self._process.join()
            raise RuntimeError(f"a measuring process ended with status {self._process.exitcode}") from None

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(timeout=5.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def serve(pipe: Connection, make: Callable[..., Mapping[Contender, Measure]], arguments: tuple) -> None:
    """Build the contenders, then measure each that is asked for, until the other side is closed."""
    with ExitStack() as stack:
        contenders = make(*arguments, stack)
        pipe.send([tuple(contender) for contender in contenders])
        while True:
            try:
                name = pipe.recv()
            except EOFError:
                return
            pipe.send(dict(contenders[Contender(*name)]()))
