"""Compilation and its cache: compiled once, found again in a new process, and never stale.

numba's own cache trusts a file's time stamp: it does not notice an edit in a function that the
cached one calls in another module, nor a changed global constant. Here the stamp is a fingerprint
of everything that the code reaches (`fingerprint.py`) together with this package's sources.
"""

from __future__ import annotations

import hashlib
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import Cache, CompileResultCacheImpl, _CacheLocator
from numba.core.ccallback import CFunc

OPTIONS = {"nogil": True, "error_model": "numpy"}


def cache_directory() -> Path:
    """Where compiled code is kept: `SEER_ENV_CACHE_DIR`, or the user's cache folder."""
    if chosen := os.environ.get("SEER_ENV_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "seer_env"


@lru_cache(maxsize=1)
def package_fingerprint() -> str:
    """Digest of the runtime's sources, of numba's version, and of the waiting strategy."""
    from seer_env.runtime import waiting

    digest = hashlib.blake2b(digest_size=12)
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    digest.update(f"{numba.__version__} {waiting.describe()}".encode())
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


def _cache_for(function, stamp: str) -> Cache:
    locator = _Locator(cache_directory() / stamp, stamp)

    class Impl(CompileResultCacheImpl):
        def __init__(self, py_func):
            self._locator = locator
            self._lineno = 0
            abiflags = getattr(sys, "abiflags", "")
            self._filename_base = self.get_filename_base(py_func.__name__, abiflags)

    class StampedCache(Cache):
        _impl_class = Impl

    return StampedCache(function)


def c_function(function, signature, stamp: str | None) -> CFunc:
    """Compile `function` to a C function, through the cache if a stamp is given.

    Without a stamp (something it reaches cannot be fingerprinted) it is compiled each time.
    """
    compiled: Any = CFunc(function, (signature.args, signature.return_type), {}, dict(OPTIONS))
    if stamp is not None:
        compiled._cache = _cache_for(function, stamp)
    compiled.compile()
    return compiled


def cached_njit(function, signature, stamp: str, **options):
    """`numba.njit` with an eager signature and the stamped cache."""
    dispatcher = numba.njit(**{**OPTIONS, **options})(function)
    dispatcher._cache = _cache_for(function, stamp)
    dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher
