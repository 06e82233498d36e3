"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write `content` to `path`, which after a failure holds what it held before.

    Links are followed. What is no regular file, such as a pipe or a device, is written into.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        target.write_bytes(content)
        return
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".seer_env-", delete=False) as file:
        partial = Path(file.name)
        try:
            file.write(content)
            file.close()
            # Temporary files are private; this one is an ordinary file of its user.
            umask = os.umask(0)
            os.umask(umask)
            partial.chmod(0o666 & ~umask)
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
