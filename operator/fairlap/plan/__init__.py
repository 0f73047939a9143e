"""Decisions: pure functions without I/O, clock or kopf. What may be looked at is in `Seen`, what follows in `Plan`."""
