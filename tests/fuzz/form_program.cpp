#include "tests/fuzz/form_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "common/tinygpu/isa/instruction_set.h"
#include "common/tinygpu/ptx/forms.h"
#include "common/tinygpu/ptx/parser.h"
#include "tests/ptx/ptx_text.h"

namespace gen5::fuzz {

using namespace tinygpu;

namespace {

constexpr size_t kKernelsKept = 2000;
constexpr uint32_t kMostInstructions = 4, kMostRegisters = 40;
constexpr uint32_t kSmem = 0x400, kSmemBytes = 12288;  // of the kernel's array: the first address, its bytes
constexpr uint64_t kData = 1 << 16;

struct Value {
  uint64_t value = 0, step = 0;
};
struct Params {
  uint8_t object[128] = {};
  Value registers[kMostRegisters];
  uint64_t data = 0;
};

/// What a register of that name holds unless the input says otherwise: tests/ptx/data/accepted_forms gives each a part.
uint64_t usual_value(const std::string& name, uint64_t data) {
  static const std::map<std::string, uint64_t> parts = {
      {"%r0", kSmem + 1024},  // shared memory to write
      {"%r1", kSmem + 4096},  // shared memory to read, or a small number
      {"%r2", 32},            // a number
      {"%r5", 64},            // bytes
      {"%r6", kSmem},         // mbarrier
      {"%r100", 0x08020490},  // instruction descriptor: f16 × f16 → f32, M 128, N 8
      {"%r102", 256},         // A in Tensor Memory
      {"%r103", 300},         // metadata, scale factors
      {"%r104", 304},
      {"%r105", 308},
      {"%rd6", kSharedWindow + kSmem},  // mbarrier, generic
      {"%rd20", 0x4000404000010040 + (4096 >> 4)},
      {"%rd21", 0x4000404000010040 + (8192 >> 4)},
      {"%rd23", 0x0000400000010040 + (4096 >> 4)},
      {"%h1", 1},
  };
  if (const auto it = parts.find(name); it != parts.end()) return it->second;
  if (name == "%rd0" || name == "%rd1") return data;
  return 0;
}

uint64_t form_value(Input& in, const std::string& name, uint64_t data) {
  const uint64_t usual = usual_value(name, data);
  switch (in.byte() % 16) {
    case 1: return usual + uint64_t(int64_t(int8_t(in.byte())));
    case 2: return usual ^ in.take<uint64_t>();
    case 3: return in.take<uint64_t>();
    case 4: return in.take<uint32_t>();
    case 5: return in.take<uint16_t>();
    case 6: return uint64_t(0) - in.byte();
    case 7: return uint64_t(1) << (in.byte() & 63);
    case 8: return kSmem + in.take<uint16_t>();
    case 9: return kSmem + kSmemBytes - in.byte();
    case 10: return data + in.take<uint16_t>();
    case 11: return data + kData - in.byte();
    case 12: return kSharedWindow + in.take<uint32_t>();
    case 13: return kLocalWindow + in.take<uint16_t>();
    case 14: return kParamWindow + in.take<uint16_t>();
    case 15: return kFunctionWindow + in.byte();
    default: return usual;
  }
}

/// Registers by name, in order of first use.
std::vector<std::string> registers_of(const std::vector<std::string>& body) {
  std::vector<std::string> out;
  for (const std::string& text : body)
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') continue;
      size_t end = i + 1;
      while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]))) ++end;
      const std::string name = text.substr(i, end - i);
      const std::string stem = name.substr(0, name.find_first_of("0123456789"));
      static const char* const stems[] = {"%r", "%rd", "%p", "%h", "%rs", "%f", "%fd", "%q", "%b"};
      if (stem == name || std::find(std::begin(stems), std::end(stems), stem) == std::end(stems)) continue;
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    }
  if (out.size() > kMostRegisters) out.resize(kMostRegisters);
  return out;
}

/// value + lane · step, from the i-th pair of the parameters.
std::string load_register(const std::string& name, size_t i) {
  const std::string stem = name.substr(1, name.find_first_of("0123456789") - 1);
  std::string s = fmt::format(
      "ld.param.u64 %value, [values+{}]; ld.param.u64 %step, [values+{}]; mad.lo.u64 %value, %lane64, %step, %value; ",
      16 * i, 16 * i + 8);
  if (stem == "rd") return s + fmt::format("mov.b64 {}, %value;\n", name);
  if (stem == "fd") return s + fmt::format("mov.b64 {}, %value;\n", name);
  if (stem == "q") return s + fmt::format("mov.b128 {}, {{%value, %step}};\n", name);
  s += "cvt.u32.u64 %value32, %value; ";
  if (stem == "p")
    return s + fmt::format(
                   "shr.u32 %value32, %value32, %lane; and.b32 %value32, %value32, 1; setp.ne.u32 {}, %value32, 0;\n",
                   name);
  if (stem == "r" || stem == "f") return s + fmt::format("mov.b32 {}, %value32;\n", name);
  if (stem == "b") return s + fmt::format("cvt.u8.u32 {}, %value32;\n", name);
  return s + fmt::format("cvt.u16.u32 {}, %value32;\n", name);
}

std::string kernel_text(const FormList& list, const std::vector<std::string>& body,
                        const std::vector<std::string>& registers) {
  std::string s = fmt::format(
      ".version 9.0\n.target {}\n.address_size 64\n"
      ".entry k(.param .align 64 .b8 kparam[128], .param .align 8 .b8 values[{}], .param .u64 pdata)\n{{\n"
      ".shared .align 1024 .b8 smem[{}]; .local .align 16 .b8 local[64]; .param .align 64 .b8 param[128];\n"
      ".reg .b32 %r<340>; .reg .b64 %rd<32>; .reg .pred %p<16>; .reg .b16 %h<32>; .reg .b16 %rs<16>;\n"
      ".reg .f32 %f<340>; .reg .f64 %fd<16>; .reg .b128 %q<8>; .reg .b8 %b<8>;\n"
      ".reg .b32 %lane, %value32, %base; .reg .b64 %value, %step, %lane64, %data; .reg .pred %first, %done;\n"
      "mov.u32 %lane, %tid.x; setp.eq.u32 %first, %lane, 0; cvt.u64.u32 %lane64, %lane; ld.param.u64 %data, [pdata];\n"
      "@%first mbarrier.init.shared.b64 [smem], 1; @%first mbarrier.init.shared.b64 [smem+8], 1;\n{}bar.sync 0;\n",
      list.target, 16 * kMostRegisters, kSmemBytes, list.before);
  for (size_t i = 0; i < registers.size(); ++i) s += load_register(registers[i], i);
  s += "T: .branchtargets L;\n";
  for (const std::string& text : body) s += text + "\n";
  return s + "L:\n" + list.after + "ret;\n}\n";
}

/// Modules of this file have no variables.
struct NoVariables : VariableStore {
  uint64_t allocate(const std::string& name, uint64_t, uint32_t, bool, bool) override { throw LinkError(name); }
  void write(uint64_t, const void*, size_t) override {}
};

bool names_symbols(const std::string& text) {
  return text.find("tmapp") != text.npos || text.find("gmem") != text.npos;
}

void add_samples(std::vector<std::string>& out, std::string_view target) {
  for (const ptx::forms::Form* f : ptx::forms::all_forms()) {
    if (!f->targets.empty() && !ptx::forms::target_in(f->targets, target)) continue;
    if (const std::string text = ptx::forms::sample_instruction(*f); !text.empty()) out.push_back(text + ";");
  }
}

}  // namespace

std::vector<std::string> blackwell_instructions() {
  std::vector<std::string> out = ptx::read_lines("accepted_forms.txt.zst");
  std::erase_if(out, names_symbols);
  add_samples(out, "sm_100a");
  return out;
}

std::vector<std::string> hopper_instructions() {
  std::vector<std::string> out;
  add_samples(out, "sm_90a");
  return out;
}

std::vector<std::string> wgmma_instructions() {
  struct Kind {
    const char *types, *shape;
    const char* accumulator;  // register name
    int per;                  // columns that one register of D holds in 32 lanes' words
    const char* tail;
  };
  const Kind kinds[] = {
      {"f32.f16.f16", "k16", "%f", 2, ", 1, 1, 0, 0"},
      {"f32.bf16.bf16", "k16", "%f", 2, ", 1, -1, 1, 1"},
      {"f16.f16.f16", "k16", "%r", 4, ", 1, 1, 1, 0"},
      {"f32.tf32.tf32", "k8", "%f", 2, ", 1, 1"},
      {"f32.e4m3.e5m2", "k32", "%f", 2, ", 1, 1"},
      {"f16.e5m2.e4m3", "k32", "%r", 4, ", -1, 1"},
      {"s32.s8.u8", "k32", "%r", 2, ""},
  };
  std::vector<std::string> out = {"wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;",
                                  "wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"};
  for (const Kind& k : kinds)
    for (int n : {8, 16, 64, 256})
      for (bool a_in_registers : {false, true}) {
        std::string d;
        for (int i = 0; i < n / k.per; ++i) d += fmt::format("{}{}{}", i ? "," : "", k.accumulator, 200 + i);
        std::string tail = k.tail;
        // A in registers has no transpose.
        if (a_in_registers && tail.size() > 8) tail.erase(tail.size() - 3);
        out.push_back(fmt::format("wgmma.mma_async.sync.aligned.m64n{}{}.{} {{{}}}, {}, %rd21, %p1{};", n, k.shape,
                                  k.types, d, a_in_registers ? "{%r10,%r11,%r12,%r13}" : "%rd20", tail));
      }
  return out;
}

FormPrograms::FormPrograms(std::vector<FormList> lists) : lists_(std::move(lists)) {
  for (const FormList& l : lists_) machines_.push_back(small_machine(l.machine));
}

const FormPrograms::Kernel& FormPrograms::kernel(size_t list, const std::vector<std::string>& body) {
  const std::string key = fmt::format("{} {}", list, fmt::join(body, "\n"));
  if (const auto it = kernels_.find(key); it != kernels_.end()) return it->second;
  if (kernels_.size() >= kKernelsKept) kernels_.clear();
  Kernel& k = kernels_[key];
  k.registers = registers_of(body);
  try {
    auto module = std::make_shared<ptx::Module>(ptx::parse(kernel_text(lists_[list], body, k.registers)));
    NoVariables none;
    k.program = std::make_unique<Program>(std::vector<std::shared_ptr<const ptx::Module>>{module},
                                          isa::instruction_set(), machines_[list].costs, none);
    k.function = k.program->find("k");
  } catch (const ptx::ParseError&) {  // such as both kinds of .cta_group in one kernel
  }
  return k;
}

void FormPrograms::run(Input& in, const std::vector<uint8_t>& object) {
  const size_t list = in.below(uint32_t(lists_.size()));
  const std::vector<std::string>& choices = lists_[list].instructions;
  const uint8_t settings = in.byte();
  std::vector<std::string> body;
  for (uint32_t n = 1 + in.below(kMostInstructions); n; --n) {
    const std::string& text = choices[in.take<uint16_t>() % choices.size()];
    static const char* const guards[] = {"", "", "@%p1 ", "@!%p2 "};
    body.push_back((text.starts_with("@") ? "" : guards[in.byte() % 4]) + text);
  }
  const Kernel& k = kernel(list, body);
  if (!k.function) return;
  Gpu gpu(machines_[list]);
  set_options(gpu.options);
  static constexpr CompletionOrder::Mode modes[] = {CompletionOrder::Mode::timed, CompletionOrder::Mode::late,
                                                    CompletionOrder::Mode::seeded};
  gpu.options.order = {modes[settings % 3], settings};
  Params p;
  p.data = gpu.memory.allocate(kData, 256, MemoryKind::device);
  std::copy_n(object.begin(), std::min<size_t>(object.size(), 128), p.object);
  std::memcpy(gpu.memory.translate(p.data, 128), p.object, 128);
  static constexpr uint8_t steps[] = {0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 255, 3, 5, 15};
  for (size_t i = 0; i < k.registers.size(); ++i) {
    p.registers[i].value = form_value(in, k.registers[i], p.data);
    p.registers[i].step = steps[in.byte() % 16];
  }
  LaunchConfig c;
  c.kernel = k.function;
  c.program = k.program.get();
  static constexpr uint32_t threads[] = {128, 32, 1, 256};
  c.block = {threads[settings / 4 % 4]};
  if (settings / 16 % 2) c.cluster = {2};
  c.explicit_cluster = c.cluster.x == 2;
  c.grid = c.cluster;
  static_assert(sizeof p == 128 + 16 * kMostRegisters + 8);
  c.params.resize(k.function->param_bytes);
  std::memcpy(c.params.data(), &p, std::min(c.params.size(), sizeof p));
  launch(gpu, c);
}

}  // namespace gen5::fuzz
