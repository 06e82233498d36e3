"""The event runtime; knows neither PettingZoo nor torch.

Two settings of others must be made before numba is imported; what the user has set is kept, and
`seer-env doctor` shows what is in force.

- numba fixes its largest thread count on import, at the CPUs it sees. Oversubscription can pay, and a
  thread count is an argument here, so the cap is raised to twice the effective CPUs.
- GNU OpenMP's threads wait for each other by spinning for milliseconds. Where another process holds a
  core, the thread that is needed then waits for the one that spins. A tenth of a millisecond bridges
  the gap between two steps, and frees the core soon where it does not.
"""

import os
import sys

from seer_env.machine import effective_cpus

if "numba" not in sys.modules:
    os.environ.setdefault("NUMBA_NUM_THREADS", str(2 * effective_cpus()))
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
