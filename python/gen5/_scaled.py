"""torch's products of narrow types with scale factors, computed on the CPU in f32, with cuBLASLt's layouts of the factors
(docs.nvidia.com/cuda/cublas, "1D Block Scaling Factors Layout"). Their bits are not a tensor core's, but for fp8 without blocks on Hopper."""

from __future__ import annotations

import concurrent.futures
import os
import typing

from gen5 import _library

# torch's numbers of torch.nn.functional.ScalingType and SwizzleType.
_TENSOR, _ROW, _BLOCK_16, _BLOCK_32, _BLOCK_128, _BLOCK_128_128 = range(6)
_PLAIN, _BLOCKED = range(2)


def numbers(codes: typing.Any) -> typing.Any:
    """Converts rows of narrow numbers to f32; a byte holds two e2m1 numbers, the lower one first."""
    import torch
    if codes.dtype not in (torch.uint8, torch.float4_e2m1fn_x2):
        return codes.float()
    codes = codes.view(torch.uint8)
    e2m1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    nibbles = torch.stack([codes & 15, codes >> 4], -1).flatten(1).long()
    return e2m1[nibbles & 7] * (1 - 2 * (nibbles >> 3))


_BAND = 128  # rows that a host thread multiplies at a time
_PROMOTED = 128  # elements of K whose sum cuBLAS adds to an f32, without fast accumulation


def product(a: typing.Any, b: typing.Any, promoted: int = 0) -> typing.Any:
    """Rows of A times rows of B, both of fp8, f16 or bf16, with the bits of tensor cores: one chain of MMAs, or one for each `promoted` elements
    of K. In f32, on the CPU."""
    import numpy as np
    import torch
    elements = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float16, torch.bfloat16]
    left, right = (np.ascontiguousarray(t.detach().view(torch.uint8 if t.element_size() == 1 else torch.int16).cpu().numpy()) for t in (a, b))
    (rows, depth), columns = left.shape, len(right)
    out = np.empty((rows, columns), np.float32)
    multiply = _library.load()[0].tinygpu_session_product

    def band(first: int) -> None:
        end = min(first + _BAND, rows)
        multiply(left[first:end].ctypes.data, end - first, elements.index(a.dtype), right.ctypes.data, columns, elements.index(b.dtype), depth, promoted,
                 out[first:end].ctypes.data)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(band, range(0, rows, _BAND)):
            pass
    return torch.from_numpy(out)


def hopper_product(a: typing.Any, b: typing.Any, fast: bool) -> typing.Any | None:
    """Rows of fp8 codes times rows of fp8 codes with the bits of cuBLAS on Hopper, whose tensor cores sum in 14 bits. With fast accumulation
    one chain of MMAs sums all of K. None on other machines, whose tensor cores sum such products in f32, and of other types."""
    import torch
    types = (torch.float8_e4m3fn, torch.float8_e5m2)
    if a.dtype not in types or b.dtype not in types or _library.architecture() != "sm_90a":
        return None
    return product(a, b, 0 if fast else _PROMOTED)


def factors(codes: typing.Any) -> typing.Any:
    """Converts factors to f32; bytes are powers of two (UE8M0)."""
    import torch
    return torch.exp2(codes.float() - 127) if codes.dtype == torch.uint8 else codes.float()


def unblocked(codes: typing.Any, rows: int, columns: int) -> typing.Any:
    """Returns factors by row and column. In memory they lie in blocks of 128 rows by 4 columns, padded to whole blocks, in which rows r, r
    + 32, r + 64 and r + 96 stand side by side."""
    down, across = -(-rows // 128), -(-columns // 4)
    if codes.numel() != down * across * 512:
        raise ValueError(f"{codes.numel()} scale factors: {rows} rows of {columns} take {down * across * 512} in blocks of 128 x 4")
    blocks = factors(codes).reshape(down, across, 32, 4, 4)
    return blocks.permute(0, 3, 2, 1, 4).reshape(down * 128, across * 4)[:rows, :columns]


def _recipe(codes: typing.Any, scale: typing.Any, rows: int, depth: int) -> int:
    """The kind of scaling that torch._scaled_mm derives from types and shapes. `codes` are rows of an operand, `scale` belongs to them."""
    import torch
    if scale.dtype == torch.float8_e4m3fn:
        return _BLOCK_16
    if scale.dtype in (torch.float8_e8m0fnu, torch.uint8):
        return _BLOCK_32
    if scale.numel() == 1:
        return _TENSOR
    if scale.dim() == 2 and tuple(scale.shape) == (rows, 1):
        return _ROW
    if scale.dim() == 2 and tuple(scale.shape) == (rows, depth // 128):
        return _BLOCK_128
    if scale.dim() == 2 and tuple(scale.shape) == (-(-rows // 128), depth // 128):
        return _BLOCK_128_128
    raise ValueError(f"scale factors of shape {tuple(scale.shape)} and type {scale.dtype} for an operand of {rows} rows of {depth} {codes.dtype}: write one for all, "
                     f"one a row, one for 128 elements or for a block of 128 x 128 in f32, or blocked ones of e4m3 or e8m0")


def _operand(codes: typing.Any, scale: typing.Any, recipe: int | None, swizzle: int = _BLOCKED) -> typing.Any:
    values = numbers(codes)
    rows, depth = values.shape
    if recipe is None:
        recipe = _recipe(codes, scale, rows, depth)
    if recipe in (_BLOCK_16, _BLOCK_32):
        step = 16 if recipe == _BLOCK_16 else 32
        wide = unblocked(scale, rows, depth // step) if swizzle == _BLOCKED else factors(scale).reshape(rows, depth // step)
        return values * wide.repeat_interleave(step, 1)
    if recipe == _BLOCK_128:
        return values * scale.float().repeat_interleave(128, 1)
    if recipe == _BLOCK_128_128:
        return values * scale.float().repeat_interleave(128, 0)[:rows].repeat_interleave(128, 1)
    return values * scale.float().reshape(-1, 1)


def scaled_mm(a: typing.Any, b: typing.Any, scale_a: typing.Any, scale_b: typing.Any, bias: typing.Any = None, scale_result: typing.Any = None,
              out_dtype: typing.Any = None, use_fast_accum: bool = False, out: typing.Any = None) -> typing.Any:
    """aten::_scaled_mm and its out=."""
    import torch
    transposed = scale_b.t() if scale_b.dim() == 2 and scale_b.numel() > 1 else scale_b
    by_row = scale_a.dtype == scale_b.dtype == torch.float32 and scale_a.numel() in (1, len(a)) and scale_b.numel() in (1, b.shape[1])
    product = hopper_product(a, b.t(), use_fast_accum) if by_row else None
    if product is None:
        product = _operand(a, scale_a, None) @ _operand(b.t(), transposed, None).t()
    else:
        product = product * scale_a.reshape(-1, 1) * transposed.reshape(1, -1)
    product = product if bias is None else product + bias.float()
    product = product if scale_result is None else product * scale_result.float()
    made = product.to(out_dtype or (a.dtype if out is None else out.dtype))
    return made if out is None else out.copy_(made)


def scaled_mm_v2(a: typing.Any, b: typing.Any, scale_a: list, recipe_a: list[int], swizzle_a: list[int], scale_b: list, recipe_b: list[int],
                 swizzle_b: list[int], bias: typing.Any = None, out_dtype: typing.Any = None, contraction_dim: typing.Sequence[int] = (),
                 use_fast_accum: bool = False, out: typing.Any = None) -> typing.Any:
    """aten::_scaled_mm_v2, which torch.nn.functional.scaled_mm calls. A second factor holds for the whole operand."""
    def operand(codes: typing.Any, scale: list, recipe: list[int], swizzle: list[int]) -> typing.Any:
        first = scale[0]
        if recipe[0] in (_BLOCK_128, _BLOCK_128_128) and first.dim() == 2 and first.shape[1] != codes.shape[1] // 128:
            first = first.t()
        wide = _operand(codes, first, recipe[0], swizzle[0] if swizzle else _PLAIN)
        for more in scale[1:]:
            wide = wide * more.float()
        return wide
    product = operand(a, scale_a, recipe_a, swizzle_a) @ operand(b.t(), scale_b, recipe_b, swizzle_b).t()
    product = product if bias is None else product + bias.float()
    made = product.to(out_dtype or (a.dtype if out is None else out.dtype))
    return made if out is None else out.copy_(made)


def scaled_grouped_mm_v2(a: typing.Any, b: typing.Any, scale_a: list, recipe_a: list[int], swizzle_a: list[int], scale_b: list, recipe_b: list[int],
                         swizzle_b: list[int], offs: typing.Any = None, bias: typing.Any = None, out_dtype: typing.Any = None,
                         contraction_dim: typing.Sequence[int] = (), use_fast_accum: bool = False) -> typing.Any:
    """aten::_scaled_grouped_mm_v2, of rows of A by groups (`offs`: their ends) and one B a group, with a factor a block of 16 or 32. A group's
    factors are padded to 128 rows of their own."""
    import torch
    if a.dim() != 2 or b.dim() != 3 or offs is None or recipe_a[0] not in (_BLOCK_16, _BLOCK_32) or not swizzle_a or swizzle_a[0] != _BLOCKED:
        raise NotImplementedError
    out = torch.zeros(len(a), b.shape[2], dtype=out_dtype or torch.bfloat16)
    begin = row = 0
    for group, end in enumerate(offs.tolist()):
        padded = -(-(end - begin) // 128) * 128
        of_a = [scale_a[0].reshape(-1, scale_a[0].shape[-1])[row:row + padded], *(more[group] if more.numel() > 1 else more for more in scale_a[1:])]
        of_b = [scale_b[0][group], *(more[group] if more.numel() > 1 else more for more in scale_b[1:])]
        if end > begin:
            out[begin:end] = scaled_mm_v2(a[begin:end], b[group], of_a, recipe_a, swizzle_a, of_b, recipe_b, swizzle_b, None, out.dtype)
        begin, row = end, row + padded
    return out
