"""An event loop in a thread of its own, which the blocking facade and the executor share."""
from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
from typing import Any, Callable, Coroutine, List, Optional, TypeVar

T = TypeVar("T")


class Loop:
    """REQUIRES: run() is not called from the thread of the loop itself."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._serve, name="holon", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def start(self, work: "Coroutine[Any, Any, T]") -> "concurrent.futures.Future[T]":
        """Begins something in the loop."""
        if self.pid != os.getpid():
            work.close()
            raise RuntimeError("this process was forked off after holon was used in it: connect again here")
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: "Coroutine[Any, Any, T]", timeout: Optional[float] = None) -> T:
        """Does something in the loop, and returns what comes out; `timeout` in s. Errors: its own, and TimeoutError."""
        if threading.current_thread() is self.thread:
            work.close()
            raise RuntimeError("a callback of a future runs in the thread that would have to answer: wait in a thread of your own")
        future = self.start(work)
        try:
            return future.result(timeout)
        except (asyncio.TimeoutError, concurrent.futures.TimeoutError) as error:  # before 3.11 these are classes of their own
            future.cancel()
            raise TimeoutError(*error.args) from None
        except BaseException:
            future.cancel()
            raise


# Called at the interpreter's end, while the loop still runs.
before_end: List[Callable[[], None]] = []
_shared: Optional[Loop] = None
_lock = threading.Lock()


def shared_loop() -> Loop:
    """The loop of this process."""
    global _shared
    with _lock:
        if _shared is None or _shared.pid != os.getpid():
            _shared = Loop()
            atexit.register(_stop, _shared)
        return _shared


def _stop(loop: Loop) -> None:
    """Lets what is on its way to brokers (a bye, say) go out."""
    if loop.pid == os.getpid() and loop.thread.is_alive():
        for act in before_end:
            act()
        loop.loop.call_soon_threadsafe(loop.loop.stop)
        loop.thread.join(2)
