"""What the columns of a table seem to be, by counting, and the policy that is proposed for them.

Start with `describe`. `events.description` does the same for the fields of events, with the parts
that are here: what is counted of values, what names say, and when values identify people.
"""

from __future__ import annotations

from halfmask.description.proposal import Proposal
from halfmask.description.singling_out import SinglingOut
from halfmask.description.tables import Batched, Description, describe

__all__ = ["Batched", "Description", "Proposal", "SinglingOut", "describe"]
