"""What annotations of this room call arrays by what they hold, and what is of any library."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Labels, or values of a column, of any one type.
Values = NDArray[Any]
#: A frame of polars or pandas, one column of it, or an array.
Rows: TypeAlias = Any
#: A model of any library, or a function that answers like one.
Model: TypeAlias = Any
#: One value of a column, or its type in any library.
Value: TypeAlias = Any
