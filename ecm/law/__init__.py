"""Laws of the bin width Lambda: continuous on [0, 1], and quantized on the levels."""

from ecm.law.continuous import Law
from ecm.law.quantized import QuantizedLaw

__all__ = ["Law", "QuantizedLaw"]
