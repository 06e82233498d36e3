"""What numba does on this machine, as JSON on standard output: `python -m seer_env.commands.numba_probe`.

A program of its own, because to see which threading layer numba picks one must run a parallel
function, and a layer that is broken here may end the process.
"""

from __future__ import annotations

import json

# First, because it raises numba's thread cap, which is fixed when numba is imported.
import seer_env.runtime.compile  # noqa: F401  # isort: skip
import llvmlite
import numba
import numpy as np


@numba.njit(parallel=True)
def _square(values):
    for i in numba.prange(values.size):
        values[i] *= values[i]


def probe() -> dict:
    """Versions, the threading layer that a parallel function got, numba's thread cap and SVML.

    Where numba can load no layer, `layer` is None, and `layer_fault` the reason; elsewhere that is "".
    """
    fault = ""
    try:
        numba.get_num_threads()  # starts the layer
    except ValueError as error:
        fault = str(error).partition("\n")[0].rstrip(".")
    else:
        _square(np.ones(64))
    return {
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "layer": None if fault else numba.threading_layer(),
        "layer_fault": fault,
        "thread_cap": int(numba.config.NUMBA_NUM_THREADS),
        "svml": bool(numba.config.USING_SVML),
        "jit": not numba.config.DISABLE_JIT,
    }


if __name__ == "__main__":
    print(json.dumps(probe()))
