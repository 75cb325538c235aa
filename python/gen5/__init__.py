"""Run CUDA kernels that Python makes, Triton's, Gluon's, CuTe DSL's, on tinygpu: a machine model of NVIDIA's GPUs on a CPU.

    import gen5, numpy as np

    with gen5.gpu("b200", order="late") as run:
        x = gen5.array(np.arange(1024, dtype=np.float32))
        kernel[(4,)](x, ...)          # any @triton.jit or @gluon.jit function
    print(x.numpy(), run.diagnoses)

`gen5.install()` does the same for the rest of a script; `python -m gen5 script.py` needs no change to it. A kernel that breaks
a rule raises gen5.DiagnosisError with the rule, the source line and the fix, and the process goes on.
Importing this package loads nothing; the machine is made at the first install() or gpu().
"""

from gen5._array import Array, array, empty, empty_like, full, zeros, zeros_like
from gen5._session import Diagnosis, DiagnosisError, DiagnosisWarning, Run, gpu, install

__all__ = ["Array", "Diagnosis", "DiagnosisError", "DiagnosisWarning", "Run", "array", "empty", "empty_like", "full", "gpu", "install",
           "zeros", "zeros_like"]
