"""Where lines of events come from, and where they go: files, folders, pipes, topics."""

from __future__ import annotations

from halfmask.events.streams._chunk import Chunk, Position, Source
from halfmask.events.streams._columnar import ColumnarFile
from halfmask.events.streams._file_sink import FileSink
from halfmask.events.streams._files import FileSource, FolderSource, PipeSource
from halfmask.events.streams._following import FollowedFile
from halfmask.events.streams._opening import open_source
from halfmask.events.streams._sinks import FolderSink, PipeSink, Sink, open_sink
from halfmask.events.streams._tabular import TableSink
from halfmask.events.streams._topic import TopicSource

__all__ = [
    "Chunk",
    "ColumnarFile",
    "FileSink",
    "FileSource",
    "FolderSink",
    "FolderSource",
    "FollowedFile",
    "PipeSink",
    "PipeSource",
    "Position",
    "Sink",
    "Source",
    "TableSink",
    "TopicSource",
    "open_sink",
    "open_source",
]
