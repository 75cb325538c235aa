// The descriptor side of `gen5 explain`: --smem-desc, --instr-desc and what they need to be read.
#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace tinygpu::cli {

struct DescriptorOptions {
  std::string matrix, instruction;  // as written, empty: not asked
  std::string kind = "f16", major = "k";
  uint32_t rows = 8, element_bytes = 0, cta_group = 1, scales = 0;
  bool wgmma = false, sparse = false, weight_stationary = false, a_in_tmem = false;
};

/// Adds the options to the subcommand; the values are there when its callback runs.
std::shared_ptr<DescriptorOptions> add_descriptor_options(CLI::App& sub);

/// Prints what was asked for. False if neither descriptor was given. Throws CLI::ValidationError.
bool explain_descriptors(const DescriptorOptions& options);

}  // namespace tinygpu::cli
