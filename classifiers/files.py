"""Files that stand there whole or not at all."""

import os
from collections.abc import Mapping
from contextlib import suppress
from errno import EISDIR
from pathlib import Path


def write_whole(contents: Mapping[Path, bytes]) -> None:
    """Writes all of these or none: whoever is stopped meanwhile leaves what stood there before, or what is new.

    Folders are made, links stay links, and a device or a pipe is written to. Raises OSError.
    """
    streams = {path: data for path, data in contents.items() if path.exists() and not (path.is_file() or path.is_dir())}
    _write({_meant(path): data for path, data in contents.items() if path not in streams})
    for path, data in streams.items():
        path.write_bytes(data)


def _meant(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _write(contents: Mapping[Path, bytes]) -> None:
    fresh = {path: path.with_name(f"{path.name}.{os.getpid()}.part") for path in contents}
    try:
        for path, part in fresh.items():
            if path.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(contents[path])
        _put(fresh)
    finally:
        for part in fresh.values():
            with suppress(OSError):
                part.unlink()


def _put(fresh: Mapping[Path, Path]) -> None:
    try:
        for path, part in fresh.items():
            part.replace(path)
    except (KeyboardInterrupt, SystemExit):  # between two that belong together: the others follow, and then it ends
        for path, part in fresh.items():
            with suppress(FileNotFoundError):
                part.replace(path)
        raise
