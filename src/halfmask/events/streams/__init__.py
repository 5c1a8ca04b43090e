"""Where lines of events come from, and where they go: files, folders, pipes, topics."""

from __future__ import annotations

from halfmask.events.streams._chunk import Chunk, Position, Source
from halfmask.events.streams._columnar import ColumnarFile as ColumnarFile
from halfmask.events.streams._file_sink import FileSink as FileSink
from halfmask.events.streams._files import FileSource as FileSource
from halfmask.events.streams._files import FolderSource as FolderSource
from halfmask.events.streams._files import PipeSource as PipeSource
from halfmask.events.streams._following import FollowedFile
from halfmask.events.streams._opening import open_source
from halfmask.events.streams._sinks import FolderSink as FolderSink
from halfmask.events.streams._sinks import PipeSink as PipeSink
from halfmask.events.streams._sinks import Sink, open_sink
from halfmask.events.streams._tabular import TableSink as TableSink
from halfmask.events.streams._topic import TopicSource

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "Chunk",
    "FollowedFile",
    "Position",
    "Sink",
    "Source",
    "TopicSource",
    "open_sink",
    "open_source",
]
