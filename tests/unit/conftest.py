"""Makes the builders of plan/world.py importable for every unit test."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "plan"))
