"""Originals, compressed, each under the sha256 of its bytes: the same bytes are kept once.

An object is on the disk in full before it has its name. Plain gzip, so that they can be read without this program.

    <archive>/objects/<first two digits>/<the other 62>.gz
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from stenograph.disk import make_folder, read_blocks, remove_file, sync_folder, write_atomically
from stenograph.errors import BusyError, UnreadableError, UnwritableError

# Measured on 30 MB of public sessions: level 3 packs 129 MB/s to 22.0 %, level 6 66 MB/s to 19.5 %, lzma 25 MB/s to 17.0 %.
_LEVEL = 3
_GZIP = 31
_BLOCK = 1 << 20
_UNFINISHED = ".unfinished-"
_FILE_MODE = 0o600


class Store:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path_of(self, sha256: str) -> Path:
        return self.folder / sha256[:2] / f"{sha256[2:]}.gz"

    def has(self, sha256: str) -> bool:
        return self.path_of(sha256).is_file()

    def keep_file(self, path: Path, sha256: str) -> None:
        """Keep a file whose digest is known. Raises BusyError where it has changed, UnreadableError, UnwritableError."""
        if not self.has(sha256):
            self._write(read_blocks(path), sha256, path)

    def keep_bytes(self, data: bytes) -> str:
        """Keep some bytes; returns their digest. Raises UnwritableError."""
        sha256 = hashlib.sha256(data).hexdigest()
        if not self.has(sha256):
            self._write((data[at : at + _BLOCK] for at in range(0, len(data), _BLOCK)), sha256, self.folder)
        return sha256

    def stream(self, sha256: str) -> Iterator[bytes]:
        """The bytes of an original, block by block. Raises UnreadableError, at the end too: use nothing before that."""
        path = self.path_of(sha256)
        unpacking, digest = zlib.decompressobj(_GZIP), hashlib.sha256()
        try:
            for block in read_blocks(path):
                while block:
                    part = unpacking.decompress(block, _BLOCK)
                    block = unpacking.unconsumed_tail
                    digest.update(part)
                    yield part
            rest = unpacking.flush()
        except zlib.error as error:
            raise _damaged(path) from error
        digest.update(rest)
        yield rest
        if digest.hexdigest() != sha256:
            raise _damaged(path)

    def totals(self) -> tuple[int, int]:
        """How many originals there are, and the bytes that they take."""
        sizes = [path.stat().st_size for path in self.folder.glob("??/*.gz")]
        return len(sizes), sum(sizes)

    def delete(self, sha256: str) -> None:
        """Raises UnwritableError."""
        remove_file(self.path_of(sha256))

    def clean(self) -> None:
        """Remove what killed writers left; nobody may be writing."""
        with contextlib.suppress(OSError, UnwritableError):  # what stays does no harm
            for left in self.folder.glob(f"{_UNFINISHED}*"):
                remove_file(left)

    def _write(self, blocks: Iterable[bytes], sha256: str, source: Path) -> None:
        place = self.path_of(sha256)
        make_folder(place.parent)
        unfinished = self.folder / f"{_UNFINISHED}{os.urandom(8).hex()}"
        write_atomically(place, _packed(blocks, sha256, source), mode=_FILE_MODE, unfinished=unfinished)
        sync_folder(self.folder)


def digest_of(path: Path, stop: int | None = None) -> tuple[str, int]:
    """The sha256 and the size of a file, or of its first `stop` bytes. Raises UnreadableError."""
    digest, size = hashlib.sha256(), 0
    for block in read_blocks(path, stop=stop):
        digest.update(block)
        size += len(block)
    return digest.hexdigest(), size


def _packed(blocks: Iterable[bytes], sha256: str, source: Path) -> Iterator[bytes]:
    packing, digest = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP), hashlib.sha256()
    for block in blocks:
        digest.update(block)
        yield packing.compress(block)
    yield packing.flush()
    if digest.hexdigest() != sha256:
        raise BusyError(f"{source} changed while it was being read", hint="run the command again", path=source)


def _damaged(path: Path) -> UnreadableError:
    return UnreadableError(f"{path} is damaged and no longer holds the original; restore it from a backup", path=path)
