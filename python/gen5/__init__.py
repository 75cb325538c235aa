"""Runs CUDA kernels that Python makes (Triton's, Gluon's, CuTe DSL's) on tinygpu, a model of NVIDIA's GPUs on a CPU.

    import gen5, numpy as np

    with gen5.gpu("b200", order="late") as run:
        x = gen5.array(np.arange(1024, dtype=np.float32))
        kernel[(4,)](x, ...)          # any @triton.jit or @gluon.jit function
    print(x.numpy(), run.diagnoses)

`gen5.install()` runs the kernels of the rest of a script; `python -m gen5 script.py` needs no change to the script. A kernel that breaks a
rule raises gen5.DiagnosisError with the rule, the source line and the fix, and the process goes on. `gen5.debug()` starts the
script again in the debugger. Importing this package loads nothing;
the first install() or gpu() makes the machine.
"""

from gen5._array import Array, array, empty, empty_like, full, zeros, zeros_like
from gen5._cutlass_heuristics import cutlass_heuristics
from gen5._debug import debug
from gen5._session import Diagnosis, DiagnosisError, DiagnosisWarning, Run, gpu, install
from gen5._prune import prune_configs
from gen5.predict import Prediction, predict
from gen5.search import Candidate, Pruned, Search, read_kernel_tuner, search, search_attention

__all__ = ["Array", "Candidate", "Diagnosis", "DiagnosisError", "DiagnosisWarning", "Prediction", "Pruned", "Run", "Search", "array", "cutlass_heuristics", "debug", "empty", "empty_like",
           "full", "gpu", "install", "predict", "prune_configs", "read_kernel_tuner", "search", "search_attention", "zeros", "zeros_like"]
