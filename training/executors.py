"""Where work runs that is handed over: in a second thread, or at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import torch

__all__ = ["AtOnce", "second_thread"]


class AtOnce(Executor):
    """Runs what is submitted at once, in the thread that submits it, and raises its errors there."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """The result, as a future that is done."""
        done: Future[Any] = Future()
        done.set_result(function(*arguments, **named))
        return done


def second_thread(name: str) -> Executor:
    """A thread that runs what is submitted in order; its operations have as many threads as the caller's."""
    threads = torch.get_num_threads()  # torch gives a new thread what any thread has set last
    return ThreadPoolExecutor(1, name, initializer=torch.set_num_threads, initargs=(threads,))
