"""Makes the builders of statuses.py and plan/world.py importable for every unit test."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "plan")]
