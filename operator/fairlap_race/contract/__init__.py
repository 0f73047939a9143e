"""What the operator and the race image tell each other: specification, record, reasons, and the texts' common codec.

All that the operator may import of the race image, and the floor under all of its rooms; it imports none of them.
"""
