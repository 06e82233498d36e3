"""Compilation and its cache: compiled once, found again in a new process, and never stale.

numba's own cache trusts a file's time stamp: it does not notice an edit in a function that the
cached one calls in another module, nor a changed global constant. Here the stamp is a fingerprint
of everything that the code reaches (`fingerprint.py`) together with this package's sources.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import Cache, CompileResultCacheImpl, NullCache, _CacheLocator
from numba.core.ccallback import CFunc

#: Folders of compiled code that are kept, one per fingerprint.
KEPT_STAMPS = 200
#: numba's global switches that change the code it makes.
CODE_SWITCHES = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "USING_SVML", "DISABLE_INTEL_SVML", "BOUNDSCHECK")
_log = logging.getLogger("seer_env")
OPTIONS = {"nogil": True, "error_model": "numpy"}


def cache_directory() -> Path:
    """Where compiled code is kept: `SEER_ENV_CACHE_DIR`, or the user's cache folder."""
    if chosen := os.environ.get("SEER_ENV_CACHE_DIR"):
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home, as in some containers
        home = Path(tempfile.gettempdir())
    name, default = "XDG_CACHE_HOME", home / ".cache"
    if sys.platform == "win32":
        name, default = "LOCALAPPDATA", home / "AppData" / "Local"
    elif sys.platform == "darwin":
        name, default = "", home / "Library" / "Caches"
    given = os.environ.get(name, "")
    # An empty or relative value means nothing (XDG base directory specification).
    return (Path(given) if os.path.isabs(given) else default) / "seer_env"


@lru_cache(maxsize=1)
def package_fingerprint() -> str:
    """Digest of the runtime's sources, of numba's version and switches, and of the waiting strategy."""
    from seer_env.runtime import waiting

    digest = hashlib.blake2b(digest_size=12)
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    switches = [getattr(numba.config, name, None) for name in CODE_SWITCHES]
    digest.update(f"{numba.__version__} {waiting.describe()} {switches}".encode())
    return digest.hexdigest()


class _Locator(_CacheLocator):
    def __init__(self, folder: Path, stamp: str):
        self._folder, self._stamp = folder, stamp

    def get_cache_path(self):
        return str(self._folder)

    def get_source_stamp(self):
        return self._stamp

    def get_disambiguator(self):
        return "seer"


_USABLE: dict[Path, bool] = {}


def _code_folder() -> Path:
    """A folder of our own below the cache folder: what is old in it may be removed."""
    return cache_directory() / "compiled"


def _usable(folder: Path) -> bool:
    """Whether compiled code can be kept in a folder; says once why it cannot."""
    if folder not in _USABLE:
        _USABLE[folder] = True
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            _forget_old_stamps(folder)
        except OSError as error:
            _USABLE[folder] = False
            warnings.warn(
                f"compiled code cannot be kept in {folder} ({error}): every process compiles again. Set "
                "SEER_ENV_CACHE_DIR to a folder that can be written.",
                RuntimeWarning,
                stacklevel=2,
            )
    return _USABLE[folder]


def _forget_old_stamps(folder: Path) -> None:
    """Keep the stamps used last: each edit of a handler makes one."""
    stamps = sorted((f for f in folder.iterdir() if f.is_dir()), key=lambda f: f.stat().st_mtime)
    for old in stamps[:-KEPT_STAMPS]:
        shutil.rmtree(old, ignore_errors=True)


class _Implementation(CompileResultCacheImpl):
    def __init__(self, py_func, locator: _Locator):
        self._locator = locator
        self._lineno = 0
        self._filename_base = self.get_filename_base(py_func.__name__, getattr(sys, "abiflags", ""))


def _cache_for(function, stamp: str) -> Cache | NullCache:
    if not _usable(_code_folder()):
        return NullCache()
    folder = _code_folder() / stamp
    if folder.exists():
        os.utime(folder)  # it is in use: others are forgotten first

    class StampedCache(Cache):
        _impl_class = staticmethod(lambda f: _Implementation(f, _Locator(folder, stamp)))

        def _load_overload(self, sig, target_context):
            try:
                return super()._load_overload(sig, target_context)
            except Exception as error:  # a damaged file can raise anything: it is written anew
                _log.warning("%s: damaged (%r), compiled again", self.cache_path, error)
                self.flush()
                return None

        def _save_overload(self, sig, data):
            try:
                super()._save_overload(sig, data)
            except (
                OSError
            ) as error:  # a full disk, or a folder that was removed: the code is here all the same
                _log.warning("%s: not kept (%s)", self.cache_path, error)

    return StampedCache(function)


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Deliver Ctrl-C behind a compilation: raised inside one, it is lost in LLVM's callbacks."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    struck: list = []
    signal.signal(signal.SIGINT, lambda *arguments: struck.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if struck:
            handler(*struck[0])


def c_function(function, signature, stamp: str | None) -> CFunc:
    """Compile `function` to a C function, through the cache if a stamp is given.

    Without a stamp (something it reaches cannot be fingerprinted) it is compiled each time.
    """
    compiled: Any = CFunc(function, (signature.args, signature.return_type), {}, dict(OPTIONS))
    if stamp is not None:
        compiled._cache = _cache_for(function, stamp)
    with _interrupts_kept():
        compiled.compile()
    return compiled


def cached_njit(function, signature, stamp: str, **options):
    """`numba.njit` with an eager signature and the stamped cache."""
    dispatcher = numba.njit(**{**OPTIONS, **options})(function)
    dispatcher._cache = _cache_for(function, stamp)
    with _interrupts_kept():
        dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher
