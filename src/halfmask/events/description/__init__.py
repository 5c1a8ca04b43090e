"""What a sample of events tells of its fields, and the policy that is proposed for them.

Start with `describe_events`.
"""

from __future__ import annotations

from halfmask.events.description._describe import describe_events
from halfmask.events.description._field_proposal import EventsDescription, FieldProposal

__all__ = ["EventsDescription", "FieldProposal", "describe_events"]
