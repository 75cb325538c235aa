#include "chapters/15_search/run.h"

#include <fmt/format.h>

#include <stdexcept>

#include "chapters/15_search/kernels.h"
#include "common/harness/cuda_check.h"
#include "common/harness/inputs.h"
#include "common/harness/measure.h"
#include "common/harness/watch.h"

namespace search {

using namespace gen5::harness;

namespace {

const Kernel& known(const tiny::Point& p) {
  if (const Kernel* kernel = kernel_of(p)) return *kernel;
  throw std::invalid_argument(fmt::format("this program has no kernel for {}", text(p)));
}

}  // namespace

const Kernel* kernel_of(const tiny::Point& p) {
  for (const auto all : {steps(), others(), wrong_winners()})
    for (const Kernel& kernel : all)
      if (kernel.point == p) return &kernel;
  return nullptr;
}

Comparison compare(const tiny::Problem& problem, const tiny::Point& point) {
  const auto [m, n, k] = problem;
  const auto a = make_inputs(Format::bf16, Pattern::uniform, size_t(m) * k, 1);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, size_t(n) * k, 2);
  DeviceBuffer<uint16_t> device_a(a), device_b(b);
  DeviceBuffer<uint32_t> d(size_t(m) * n);
  d.fill(0xff);  // NaN wherever nothing is written
  known(point).run({device_a.get(), device_b.get(), reinterpret_cast<float*>(d.get()), m, n, k});
  GEN5_CUDA(cudaDeviceSynchronize());
  return compare_bits(GemmInputs{Format::bf16, m, n, k, a.data(), b.data()}, Output::f32, d.download(), 0, 0, m, n);
}

// Numbers, not zeros: a GPU's clock depends on the bits that toggle.
Clock::Clock(const tiny::Problem& p)
    : problem_(p),
      a_(make_inputs(Format::bf16, Pattern::uniform, size_t(p.m) * p.k, 1)),
      b_(make_inputs(Format::bf16, Pattern::uniform, size_t(p.n) * p.k, 2)),
      d_(size_t(p.m) * p.n) {}

void Clock::launch(const tiny::Point& point) {
  known(point).run({a_.get(), b_.get(), d_.get(), problem_.m, problem_.n, problem_.k});
}

double Clock::cycles(const tiny::Point& point) {
  const ClockAlone alone;
  if (!used_) launch(point);
  used_ = true;
  return measure([&] { launch(point); }).cycles;
}

}  // namespace search
