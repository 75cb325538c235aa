"""Kernels whose truth is tested: chapters', CUTLASS's and Triton's, on both machines."""
import os
import sys

from session import root


class Kernel:
    """A program whose kernels are looked at."""

    def __init__(self, machine, program, *arguments):
        self.machine, self.program, self.arguments = machine, program, arguments

    def __str__(self):
        return f"{self.machine} {' '.join([self.program, *self.arguments])}"

    def command(self, build):
        """Its command line and its environment. Throws SystemExit(77) where it cannot be had."""
        return build.program(self.program, *self.arguments), dict(os.environ)


class Foreign(Kernel):
    """A program of tests/foreign/run.py."""

    def command(self, build):
        os.environ["GEN5"] = str(build.gen5)
        if str(root / "tests" / "foreign") not in sys.path:
            sys.path.append(str(root / "tests" / "foreign"))
        import run

        command, _, environment = run.command_of(self.program)
        return command, environment


SMALL = ("--m", "256", "--n", "256", "--k", "256")
KERNELS = [
    Kernel("b200", "05_mma", "--part", "smallest"),
    Kernel("b200", "01_mbarrier", "--part", "ring"),
    Kernel("h200", "01_mbarrier", "--part", "ring"),
    Kernel("b200", "00_order", "--part", "table"),
    Kernel("b200", "02_bulk_tensor", "--part", "swizzle"),
    Kernel("b200", "04_tmem_ld_st", "--part", "fragments"),
    Kernel("b200", "06_mma_operands", "--part", "chain"),
    Kernel("b200", "07_tmem_cp_shift", "--part", "shapes"),
    Kernel("b200", "08_mma_block_scaled", "--part", "rows"),
    Kernel("b200", "11_cta_pair", "--part", "halves"),
    Kernel("b200", "13_gemm", "--step", "8", *SMALL, "--timeline", "off"),
    Kernel("b200", "14_attention", "--queries", "128", "--heads", "1", "--timeline", "off"),
    Kernel("h200", "13_gemm_hopper", *SMALL, "--variant", "cooperative"),
    Kernel("h200", "14_attention_hopper", "--queries", "128", "--heads", "1"),
    Foreign("b200", "cutlass.mma_tma"),
    Foreign("b200", "cutlass.sgemm_1"),
    Foreign("h200", "cutlass.wgmma"),
    Foreign("b200", "triton.softmax"),
    Foreign("b200", "triton.matmul_fp16"),
    Foreign("h200", "triton.hopper_matmul_fp16"),
]
