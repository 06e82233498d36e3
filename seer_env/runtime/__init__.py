"""The event runtime; knows neither PettingZoo nor torch.

numba fixes its largest thread count when it is imported, at the CPUs it sees. Oversubscription can
pay, and a thread count is an argument here, so the cap is raised to twice the effective CPUs if
numba is not imported yet and the user has not set it. `seer-env doctor` shows the cap in force.
"""

import os
import sys

from seer_env.machine import effective_cpus

if "numba" not in sys.modules:
    os.environ.setdefault("NUMBA_NUM_THREADS", str(2 * effective_cpus()))
