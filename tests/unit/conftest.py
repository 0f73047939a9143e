"""Makes the builders of statuses.py and plan/world.py importable for every unit test."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "plan"), str(HERE / "comparison")]
