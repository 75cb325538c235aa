"""C++ and CUDA extensions: torch.utils.cpp_extension.load_inline, as authors write it."""

import shutil

import pytest
import torch

import gen5

pytestmark = [pytest.mark.gen5_orders("timed"), pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on the path"),
              pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja on the path")]

CPP = "torch::Tensor twice(torch::Tensor x); void past_the_end(torch::Tensor x);"
CUDA = """
#include <torch/types.h>
__global__ void kernel(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * x[i];
}
torch::Tensor twice(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda() && x.device().is_cuda() && x.is_contiguous(), "x must be a contiguous CUDA tensor");
  auto out = torch::empty_like(x);
  kernel<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
  return out + torch::zeros_like(x);
}
void past_the_end(torch::Tensor x) { kernel<<<1, 256>>>(x.data_ptr<float>(), x.data_ptr<float>(), 256); }
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """Its author names machine code alone, as one does who has the GPU."""
    from torch.utils.cpp_extension import load_inline
    code = "{}{}a".format(*torch.cuda.get_device_capability())
    return load_inline("gen5_test_extension", CPP, CUDA, functions=["twice", "past_the_end"], build_directory=str(tmp_path_factory.mktemp("extension")),
                       extra_cuda_cflags=[f"-gencode=arch=compute_{code},code=sm_{code}", "-lineinfo"])


def test_a_kernel(module, gen5_run):
    x = torch.randn(1000, device="cuda")
    assert torch.equal(module.twice(x), x * 2)
    gen5_run.after_launch()
    assert gen5_run.launches == 1
    with pytest.raises(RuntimeError, match="must be a contiguous CUDA tensor"):
        module.twice(x.cpu())


def test_a_fault(module, gen5_run):
    with pytest.raises(gen5.DiagnosisError, match="illegal-address"):
        module.past_the_end(torch.zeros(64, device="cuda"))
        torch.cuda.synchronize()
        gen5_run.after_launch()


def test_predict(module):
    few, many = (gen5.predict(module.twice, args=[torch.zeros(n, device="cuda")])[0] for n in (1000, 1 << 20))
    assert few.error == many.error == "" and 0 < few.cycles < many.cycles and few.launches == 1
