// Every form that the assembler accepts runs in a kernel of its own, with operands that mean something, to its end; or
// the reason stands here why no kernel can.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "ptx_text.h"
#include "tests/bulk_tensor/map_bits.h"
#include "tests/isa_forms/form_kernel.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

/// Why a form that the assembler takes cannot end well in any kernel.
const std::map<std::string, std::string>& impossible() {
  static const std::map<std::string, std::string> forms = {
      {"st.bulk.weak.shared::cta [%r0], 16777216, 0;", "16 MiB: no GPU has that much shared memory"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r0], [%rd0, {-1,1}], [%r6];",
       "element -1 lies at a multiple of 16 bytes for no element type of a map of rank 2"},
      {"tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd3, %rd4, 0, %p1;", "an instruction descriptor of 0 has no shape"},
  };
  return forms;
}

/// Forms whose immediate is wrong at run time: they execute, and are told so.
bool may_report(const std::string& form, const Diagnosis& d) {
  return d.severity != Severity::error ||
         (form.starts_with("mbarrier.init") && (form.ends_with(" 0;") || form.ends_with(" 1048576;")) &&
          d.code == "mbarrier-count-range");
}

/// The assembler takes scale-input-d with integers; the manual has it for floats alone.
bool is_unspecified(const std::string& form) {
  return form.find("kind::i8") != std::string::npos && (form.ends_with(" 15;"));
}

MapObject tile_map(uint64_t data, int rank) {
  MapFields m;
  m.address = data;
  m.rank = rank;
  m.type = 2;  // u32: what every reduction takes
  uint64_t stride = 64;
  for (int i = 0; i < rank; ++i) {
    m.dim[i] = i ? 4 : 16;
    m.box[i] = i ? 2 : 4;
    if (i) m.stride[i] = stride;
    if (i) stride *= 4;
  }
  return make_map(m);
}

MapObject im2col_map(uint64_t data, int rank, bool wide) {
  MapFields m;
  m.address = data;
  m.rank = rank;
  m.type = 2;
  m.im2col = true;
  m.wide = wide;
  m.channels = 4;
  m.pixels = 4;
  uint64_t stride = 64;
  for (int i = 0; i < rank; ++i) {
    m.dim[i] = i ? 4 : 16;
    if (i) m.stride[i] = stride;
    if (i) stride *= 4;
  }
  return make_map(m);
}

std::vector<MapObject> all_maps(uint64_t data) {
  std::vector<MapObject> maps(map_count);
  for (int rank = 1; rank <= 5; ++rank) {
    maps[size_t(map_tile + rank - 1)] = tile_map(data, rank);
    if (rank < 3) continue;
    maps[size_t(map_im2col + rank - 1)] = im2col_map(data, rank, false);
    maps[size_t(map_wide + rank - 1)] = im2col_map(data, rank, true);
  }
  MapFields gather;
  gather.address = data;
  gather.rank = 2;
  gather.type = 2;
  gather.dim[0] = gather.dim[1] = 16;
  gather.stride[1] = 64;
  gather.box[0] = 4;
  maps[map_gather] = make_map(gather);
  return maps;
}

/// tx-count of an mbarrier's word: bits 41:21 hold its negative.
int64_t bytes_of(uint64_t word) {
  const int64_t field = int64_t(word >> 21 & 0x1fffff);
  return field >= 1 << 20 ? field - (1 << 21) : field;
}

struct Count {
  int accepted = 0, executed = 0;
  std::vector<std::string> left_out;
};

TEST(ExecuteForms, All) {
  const std::vector<std::string> forms = ptx::read_lines("accepted_forms.txt.zst");
  std::string text = ".global .align 64 .b8 tmapp[128];\n.global .align 64 .b8 gmem[128];\n";
  for (size_t i = 0; i < forms.size(); ++i)
    text += (is_tensor_form(forms[i]) ? tensor_form_kernel : form_kernel)(fmt::format("k{}", i), forms[i]);
  RunPtx run(text);
  // Some forms break a rule of Tensor Memory whatever surrounds them.
  run.gpu.options.strict_tmem = false;
  run.cluster = {2};
  const uint64_t data = run.upload(std::vector<uint32_t>(1 << 14, 3)), out = run.buffer<uint64_t>(16);
  const std::vector<MapObject> maps = all_maps(data);
  const uint64_t table = run.upload(maps);
  std::memcpy(run.gpu.memory.translate(run.program->variable("gmem")->address, 128), &maps[1], 128);

  std::map<int, Count> groups;
  for (size_t i = 0; i < forms.size(); ++i) {
    const std::string& form = forms[i];
    Count& c = groups[group_of(form)];
    ++c.accepted;
    std::memset(run.gpu.memory.translate(out, 128), 0, 128);
    run.reports.clear();
    const auto known = impossible().find(form);
    try {
      if (is_tensor_form(form))
        run.launch(fmt::format("k{}", i), {2}, {threads_of(form)}, maps[1], out);
      else
        run.launch(fmt::format("k{}", i), {2}, {threads_of(form)}, maps[1], table, data, out);
    } catch (const KernelFault& f) {
      if (known != impossible().end() && f.diagnosis.kind != FaultKind::not_modelled)
        c.left_out.push_back(form + "  " + known->second);
      else if (is_unspecified(form))
        c.left_out.push_back(form + "  no document says what scaling an integer accumulator is");
      else
        ADD_FAILURE() << form << ": " << diagnosis::render(f.diagnosis);
      continue;
    }
    EXPECT_EQ(known, impossible().end()) << form << " ended well";
    bool good = true;
    for (const Diagnosis& d : run.reports)
      if (!may_report(form, d)) {
        ADD_FAILURE() << form << ": " << diagnosis::render(d);
        good = false;
      }
    for (size_t cta = 0; cta < 2; ++cta) {
      const auto words = run.download<uint64_t>(out + 64 * cta, 2);
      EXPECT_EQ(uint32_t(words[0]), 1u) << form;
      if (!counts_bytes(form)) continue;
      EXPECT_GT(bytes_of(words[1]), 0) << form << " counted nothing";
      good = good && bytes_of(words[1]) > 0;
    }
    c.executed += good;
  }
  for (const auto& [group, c] : groups) {
    fmt::print("group {}: {} of {} accepted forms executed ({:.1f} %)\n", group, c.executed, c.accepted,
               100.0 * c.executed / c.accepted);
    for (const std::string& line : c.left_out) fmt::print("    no kernel can: {}\n", line);
    EXPECT_EQ(size_t(c.executed) + c.left_out.size(), size_t(c.accepted));
  }
  int all = 0, executed = 0;
  for (const auto& [group, c] : groups) {
    all += c.accepted;
    executed += c.executed;
  }
  fmt::print("{} of {} accepted forms executed\n", executed, all);
  EXPECT_EQ(all, 4252);
  EXPECT_EQ(groups[1].accepted + groups[2].accepted + groups[3].accepted, 37 + 166 + 40);
  EXPECT_EQ(groups[5].accepted, 1944);
  EXPECT_EQ(groups[6].accepted, 55);
  EXPECT_EQ(groups[7].accepted, 595);
  EXPECT_EQ(groups[8].accepted, 886);
  EXPECT_EQ(groups[9].accepted, 529);
}

}  // namespace
}  // namespace tinygpu::test
