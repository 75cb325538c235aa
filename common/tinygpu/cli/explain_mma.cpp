#include "common/tinygpu/cli/explain_mma.h"

#include <fmt/format.h>

#include "common/tinygpu/engines/mma/explain_descriptor.h"

namespace tinygpu::cli {
namespace {

uint64_t number(const std::string& text, const char* option, int bits) {
  size_t used = 0;
  uint64_t value = 0;
  try {
    value = std::stoull(text, &used, 0);
  } catch (const std::exception&) {
  }
  if (used != text.size() || text.empty() || (bits == 32 && value >> 32))
    throw CLI::ValidationError(option, fmt::format("'{}' is no {}-bit number", text, bits));
  return value;
}

}  // namespace

std::shared_ptr<DescriptorOptions> add_descriptor_options(CLI::App& sub) {
  auto o = std::make_shared<DescriptorOptions>();
  sub.add_option("--smem-desc", o->matrix, "A 64-bit shared-memory matrix descriptor");
  sub.add_option("--instr-desc", o->instruction, "A 32-bit instruction descriptor");
  sub.add_option("--kind", o->kind, "Kind of the instruction")
      ->check(CLI::IsMember({"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"}))
      ->capture_default_str();
  sub.add_option("--major", o->major, "How to read --smem-desc: k (K-major) or mn")
      ->check(CLI::IsMember({"k", "mn"}))
      ->capture_default_str();
  sub.add_option("--rows", o->rows, "Rows of M or N to show for --smem-desc")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  sub.add_option("--element-bytes", o->element_bytes, "Element size for --smem-desc (default: of the kind)")
      ->check(CLI::IsMember({1, 2, 4}));
  sub.add_option("--cta-group", o->cta_group, "1 or 2")->check(CLI::Range(1, 2))->capture_default_str();
  sub.add_flag("--wgmma", o->wgmma, "--smem-desc is a Hopper wgmma descriptor");
  sub.add_option("--scale-vec", o->scales, "Scale factors a row of a block-scaled kind (.scale_vec::1X, 2X, 4X)")
      ->check(CLI::IsMember({1, 2, 4}));
  sub.add_flag("--sp", o->sparse, "The instruction is written with .sp");
  sub.add_flag("--ws", o->weight_stationary, "The instruction is written with .ws");
  sub.add_flag("--a-tmem", o->a_in_tmem, "A is in Tensor Memory");
  return o;
}

bool explain_descriptors(const DescriptorOptions& o) {
  const MmaKind kind = *mma_kind_from(o.kind);
  if (!o.matrix.empty()) {
    ExplainOperand operand;
    operand.wgmma = o.wgmma;
    operand.mn_major = o.major == "mn";
    operand.element_bytes = o.element_bytes ? o.element_bytes : info(kind).element_bytes;
    operand.rows = o.rows;
    fmt::print("{}", explain_matrix_descriptor(number(o.matrix, "--smem-desc", 64), operand));
  }
  if (!o.instruction.empty()) {
    MmaForm form;
    form.cta_group = int(o.cta_group);
    form.sparse = o.sparse;
    form.weight_stationary = o.weight_stationary;
    form.a_in_tmem = o.a_in_tmem;
    form.scales = o.scales;
    if (!o.matrix.empty()) fmt::print("\n");
    fmt::print("{}", explain_instruction_descriptor(uint32_t(number(o.instruction, "--instr-desc", 32)), kind, form));
  }
  return !o.matrix.empty() || !o.instruction.empty();
}

}  // namespace tinygpu::cli
