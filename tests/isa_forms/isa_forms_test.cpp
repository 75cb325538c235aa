// How many of the forms that the assembler accepts have an executor: each is decoded as the only instruction of a
// kernel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "common/tinygpu/isa/instruction_set.h"
#include "ptx_text.h"
#include "tests/support/run_ptx.h"

namespace tinygpu {
namespace {

struct Count {
  int forms = 0;
  std::vector<std::string> missing;
};

TEST(IsaForms, AcceptedFormsHaveAnExecutor) {
  const std::vector<std::string> lines = ptx::read_lines("accepted_forms.txt.zst");
  std::string text = ".global .align 64 .b8 tmapp[128];\n.global .align 64 .b8 gmem[128];\n";
  for (size_t i = 0; i < lines.size(); ++i)
    text += fmt::format(
        ".entry k{}(.param .align 64 .b8 kparam[128]) {{ .shared .align 1024 .b8 smem[1024];\n"
        ".reg .b32 %r<340>; .reg .b64 %rd<32>; .reg .pred %p<16>; .reg .b16 %h<32>; .reg .b16 %rs<16>;\n"
        ".reg .f32 %f<16>; .reg .f64 %fd<16>; .reg .b128 %q<8>; .reg .b8 %b<8>;\n{}\nret; }}\n",
        i, lines[i]);
  test::RunPtx run(text);
  const ExecFn none = isa::instruction_set().internal("not_modelled");
  std::map<std::string, Count> families;
  int missing = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Function* f = run.program->find(fmt::format("k{}", i));
    ASSERT_NE(f, nullptr) << lines[i];
    Count& c = families[std::string(f->source->body.at(0).name())];
    ++c.forms;
    for (const Op& op : f->ops)
      if (op.fn == none) {
        c.missing.push_back(lines[i]);
        ++missing;
        break;
      }
  }
  for (const auto& [family, c] : families) {
    fmt::print("{:<36} {:>5} of {:>5}\n", family, c.forms - int(c.missing.size()), c.forms);
    for (size_t i = 0; i < c.missing.size() && i < 5; ++i)
      fmt::print("    not modelled: {}\n", c.missing[i].substr(0, 150));
    if (c.missing.size() > 5) fmt::print("    … and {} more\n", c.missing.size() - 5);
  }
  fmt::print("{} of {} forms have an executor\n", lines.size() - size_t(missing), lines.size());
  // The assembler takes scale-input-d with integers; no document says what it does.
  for (const auto& [family, c] : families)
    for (const std::string& form : c.missing)
      EXPECT_TRUE(form.find("kind::i8") != std::string::npos && form.ends_with(" 15;")) << form;
}

}  // namespace
}  // namespace tinygpu
