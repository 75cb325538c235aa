"""CUTLASS's generator asks a provider of heuristics which kernels to make for a problem (cutlass_library.heuristics): here gen5.search() answers."""

from __future__ import annotations

import typing

from gen5.search import Candidate, search


def cutlass_heuristics(machine: str | None = None, **options: typing.Any) -> typing.Any:
    """A provider for cutlass_library.heuristics.get_gemm_configs(problems, provider=…): a MatmulHeuristics of nvidia-cutlass that needs no GPU and no
    nvMatmulHeuristics. machine, and further options such as measure=16: as search() has them; by default nothing is measured, and no nvcc is needed.

    Kernels that differ in what CUTLASS chooses by itself (stages, swizzles, epilogues) are one of its configurations; stream-K is left out."""
    try:
        from cutlass_library.heuristics_provider import MatmulHeuristics
        from cutlass_library.library import DataType, LayoutType
    except ImportError as e:
        raise ImportError("cutlass_heuristics() needs cutlass_library: pip install nvidia-cutlass") from e
    names = {DataType.bf16: "bf16", DataType.f16: "f16", DataType.e4m3: "fp8", DataType.f32: "f32"}

    class Provider(MatmulHeuristics):
        def __init__(self) -> None:  # the base class would load nvMatmulHeuristics
            self.divides = {"m": 1, "n": 1}

        def set_cta_div_m(self, div_m: int) -> None:
            self.divides["m"] = div_m

        def set_cta_div_n(self, div_n: int) -> None:
            self.divides["n"] = div_n

        def get_configs(self, m: int, n: int, k: int, batch_count: int, dtypes: tuple, layouts: tuple, align_a: int, align_b: int, voidC: bool = False,
                        use_fast_acc: bool = True, count: int = 1) -> list[dict[str, typing.Any]]:
            a, b, sums, c, d = dtypes
            if batch_count != 1:
                raise ValueError(f"a batch of {batch_count}: gen5 search has single products")
            if tuple(layouts) != (LayoutType.RowMajor, LayoutType.ColumnMajor, LayoutType.RowMajor):
                raise ValueError("gen5 search has A and B with contiguous K and D with contiguous rows: layout 'tnt'")
            if a != b or names.get(a, "f32") == "f32" or sums != DataType.f32 or d not in names or d == DataType.e4m3:
                raise ValueError("gen5 search has bf16, f16 and e4m3 in both operands, sums in f32, and f32, bf16 or f16 results")
            said = search(m, n, k, type=names[a], out_type=names[d], **{"machine": machine, "measure": 0, "proof": False, "top": 16 * count, **options})
            out: list[dict[str, typing.Any]] = []
            for candidate in said.best:
                kernel = _kernel(candidate, names[a])
                if not kernel or kernel["cta_tile_m"] % self.divides["m"] or kernel["cta_tile_n"] % self.divides["n"]:
                    continue
                if any(all(other[name] == value for name, value in kernel.items()) for other in out):
                    continue
                out.append({**kernel, "estimated_runtime": candidate.us * 1e-6, "layout_a": layouts[0], "layout_b": layouts[1], "layout_d": layouts[2], "dtype_a": a,
                            "dtype_b": b, "dtype_acc": sums, "dtype_c": c, "dtype_d": d, "alignment_a": align_a, "alignment_b": align_b,
                            "use_fast_acc": use_fast_acc, "voidC": voidC})
            return out[:count]

    return Provider()


def _kernel(candidate: Candidate, kind: str) -> dict[str, typing.Any] | None:
    """What CUTLASS names of a point; None: it has no such kernel."""
    p = candidate.parameters
    if p["schedule"] == "stream_k":
        return None
    rows, columns = map(int, p["tile"].split("x"))
    cluster_m, cluster_n = map(int, p["cluster"].split("x"))
    size = 1 if kind == "fp8" else 2
    pair = int(p.get("cta", 1))  # Hopper has none
    own = rows // pair  # of a CTA
    if "consumers" in p:
        instruction, of_a_warpgroup = 64, own if "pingpong" in p["consumers"] else own // int(p["consumers"])
    else:
        instruction = of_a_warpgroup = min(own, 128) * pair
    return {"cta_tile_m": own, "cta_tile_n": columns, "cta_tile_k": int(p["block"]) // size, "instr_tile_m": instruction, "instr_tile_n": columns, "instr_tile_k": 32 // size,
            "warp_tile_m": of_a_warpgroup, "warp_tile_n": columns, "warp_tile_k": int(p["block"]) // size, "cluster_m": cluster_m * pair, "cluster_n": cluster_n,
            "cluster_k": 1, "swizzle_size": int(p["band"]), "raster_order": "along_m", "split_k_slices": int(p["split"].removesuffix("meet"))}
