"""What shadows have shown, on disk."""

from pathlib import Path

from gateway.folder import Folder
from gateway.shadows.chapter import Chapter


class Shelf(Folder[Chapter]):
    """Made when a gateway claims it; who only reads makes nothing."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, Chapter, lambda chapter: chapter.name)
