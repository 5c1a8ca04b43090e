"""Reporting: a manifest and a report for a run whose output is a file or a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.claims.released_files import manifest_of
from halfmask.events.report._seen import SeenPaths, Watched
from halfmask.events.report._writing import claims_of, write_reports
from halfmask.events.streams import FileSource, PipeSource

if TYPE_CHECKING:
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.report._writing import Reports
    from halfmask.events.running._run_summary import RunSummary
    from halfmask.events.stages._stage import Stage
    from halfmask.events.streams import Sink, Source


class Reporting:
    """Observes a run, and writes its manifest and report at the end.

    Parameters
    ----------
    policy, sink, stage
        Those of the run.

    Notes
    -----
    **Edge cases.** Dropped fields are only listed of lines of JSON in a file or pipe: of Parquet
    and Arrow only the columns that rules name are read. An output that is a pipe has no reports.
    """

    def __init__(self, policy: EventPolicy, sink: Sink, stage: Stage) -> None:
        self._policy = policy
        self._sink = sink
        self._stage = stage
        self._seen: SeenPaths | None = None

    def watching(self, source: Source) -> Source:
        """Return the source, with its first events looked at as they pass.

        Parameters
        ----------
        source
            The input of the run.
        """
        if not isinstance(source, FileSource | PipeSource):
            return source
        self._seen = SeenPaths()
        return Watched(source, self._seen)

    def write(self, summary: RunSummary) -> Reports | None:
        """Write both, if the run is whole and its output is a file or folder.

        A run that had ended already, and was started again, keeps the files that exist.

        Parameters
        ----------
        summary
            The counts of the run.

        Raises
        ------
        ReleaseError
            If the output can't be read again, or they can't be written.
        """
        target = self._sink.target
        if target is None or not summary.complete:
            return None
        seen = self._seen
        if seen is not None and summary.resumed and not seen.events:
            # It had come to its end before, and read nothing this time.
            if manifest_of(target).exists():
                return None
            seen = None
        return write_reports(
            self._policy, target, summary, claims=claims_of(self._stage), seen=seen
        )
