"""Pictures as SVG, drawn by hand: no chart library, a few kilobytes, the same bytes each time.

`svg` has shapes and words of pictures that stand alone, in a light and a dark scheme; `chart` is
a picture inside a page, in the page's colours; `words` lets no word become markup. Modules of this
room are open to other rooms, as kernels are, and to nobody else.
"""

from __future__ import annotations
