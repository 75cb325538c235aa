#include "common/tinygpu/search/emit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <set>
#include <vector>

#include "common/tinygpu/search/texts.h"

namespace tinygpu::search {
namespace {

std::string_view text_of(std::string_view path) {
  for (const EmbeddedFile& f : texts::files())
    if (f.path == path) return f.text;
  throw SearchError(fmt::format("{} is not built in", path));
}

const char* enumerator(Epilogue e) {
  constexpr const char* kNames[] = {"tma", "tma_whole", "direct", "wide"};
  return kNames[size_t(e)];
}
const char* enumerator(Schedule s) {
  constexpr const char* kNames[] = {"serial", "persistent", "launch_control", "stream_k"};
  return kNames[size_t(s)];
}

/// "constexpr uint32_t kStages = 4;", and what it is.
std::string number(const char* name, uint32_t value, const char* what) {
  return fmt::format("{:<46}// {}\n", fmt::format("constexpr uint32_t {} = {};", name, value), what);
}
std::string truth(const char* name, bool value, const char* what) {
  return fmt::format("{:<46}// {}\n", fmt::format("constexpr bool {} = {};", name, value), what);
}

std::string attention_constants(const Problem& problem, const Point& p, Template t) {
  const bool blackwell = t == Template::attention_blackwell;
  std::string out = "enum class Schedule { serial, persistent };\n";
  out += number("kDim", problem.k, "dimensions of a head");
  out += truth("kCausal", problem.causal, "query i sees keys 0 to i");
  if (blackwell)
    out += number("kTiles", p.m / 128, "tiles of 128 queries that a CTA works on, a softmax warpgroup each");
  else
    out += number("kConsumers", p.m / 64, "warpgroups, of 64 queries each");
  out += number("kQueries", p.m, "of a CTA");
  out += number("kBlock", p.n, "keys of a block");
  out += number("kStages", p.stages, "blocks in the ring");
  if (blackwell)
    out += number("kParts", p.parts, "in which P is handed over");
  else
    out += truth("kAhead", p.ahead, "the next block's scores are asked for before this block's values");
  out += truth("kLazy", p.lazy, "O is rescaled only where an exponential would exceed 2^8");
  out += truth("kOverQueries", p.over_queries, "O is staged where the queries were");
  out += number("kSection", p.section, "heads whose pieces of work are walked together");
  out += fmt::format("constexpr Schedule kSchedule = Schedule::{};\n", enumerator(p.order()));
  return out;
}

std::string types(const Problem& p, Template t) {
  constexpr const char* kElements[] = {"bf16", "f16", "e4m3", "e4m3", "e2m1", "e2m1"};
  const char* in = kElements[size_t(p.in)];
  std::string out = fmt::format(
      "using In = {};   // {}\nusing Out = {};  // {}\n"
      "constexpr auto kInType = CU_TENSOR_MAP_DATA_TYPE_{};\nconstexpr auto kOutType = CU_TENSOR_MAP_DATA_TYPE_{};\n"
      "constexpr const char* kTypeName = \"{}\";\n",
      p.in_bits() == 16 ? "uint16_t" : "uint8_t", p.in_bits() == 4 ? "two of e2m1" : in,
      p.out == Out::f32 ? "float" : "uint16_t", name(p.out),
      p.in == In::bf16  ? "BFLOAT16"
      : p.in == In::f16 ? "FLOAT16"
                        : "UINT8",
      p.out == Out::bf16  ? "BFLOAT16"
      : p.out == Out::f16 ? "FLOAT16"
                          : "FLOAT32",
      in);
  if (t == Template::hopper) return out + fmt::format("constexpr auto kType = gen5::ptx::WgmmaType::{};\n", in);
  out += fmt::format("constexpr auto kElement = gen5::layout::Element::{};\n", in);
  if (p.scales())
    out += fmt::format("constexpr auto kScaledKind = gen5::layout::ScaledKind::{};\n{}",
                       p.in == In::mxf8   ? "mxf8f6f4"
                       : p.in == In::mxf4 ? "mxf4"
                                          : "mxf4nvf4",
                       number("kScales", p.scales(), "of a row, for 32 bytes of it"));
  else
    out += fmt::format("constexpr auto kKind = gen5::layout::Kind::{};\n", p.in == In::fp8 ? "f8f6f4" : "f16");
  return out;
}

std::string constants(const Point& p, Template t) {
  std::string out;
  out += number("kRows", p.rows(), "of D, and of A, that a CTA has of a tile");
  out += number("kTileN", p.n, "columns of D of a tile");
  out += number("kBlockBytes", p.block, "of a row of A or B in a block of K");
  out += number("kSpan", p.span, "bytes of the swizzle");
  out += number("kStages", p.stages, "blocks in the ring");
  out += number("kPair", p.pair, "CTAs that multiply together");
  out += number("kClusterM", p.cluster_m, "tiles of a cluster along M: they share the block of B");
  out += number("kClusterN", p.cluster_n, "along N: they share the block of A");
  out += number("kBand", p.band, "cluster tiles along M that are walked before the next column");
  out += number("kSplit", p.split, "parts of K");
  out += truth("kMeets", p.meets, "they meet in L2, and are not added up in D");
  if (t == Template::blackwell) {
    out += number("kAccumulators", p.accumulators, "tiles that Tensor Memory holds");
    out += number("kStoreBytes", p.store, "of a row of D that a warp stores at a time");
  } else {
    out += number("kGroups", p.consumers, "consumer warpgroups");
    out += fmt::format("constexpr bool kPingPong = {};\n", p.ping_pong ? "true" : "false");
    out += truth("kSkips", p.skips, "rows of a tile that the matrix does not have");
  }
  out +=
      "enum class Epilogue { tma, tma_whole, direct, wide };\n"
      "enum class Schedule { serial, persistent, launch_control, stream_k };\n";
  out += fmt::format("constexpr Epilogue kEpilogue = Epilogue::{};\nconstexpr Schedule kSchedule = Schedule::{};\n",
                     enumerator(p.how()), enumerator(p.order()));
  return out;
}

std::string includes(Template t, const Problem& problem) {
  std::string out =
      "#include <cuda.h>\n#include <cuda_runtime.h>\n\n#include <algorithm>\n#include <cmath>\n#include <cstdint>\n"
      "#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n#include <string>\n#include <vector>\n\n";
  const auto add = [&](std::initializer_list<const char*> names) {
    for (const char* n : names) out += fmt::format("#include \"common/{}.h\"\n", n);
  };
  if (t == Template::attention_blackwell)
    add({"layout/instruction_descriptor", "layout/smem_descriptor", "layout/swizzle", "layout/tensor_memory",
         "layout/tile", "ptx/barrier", "ptx/bulk_tensor", "ptx/bulk_tensor_3d", "ptx/elect", "ptx/fence",
         "ptx/mbarrier", "ptx/tcgen05_alloc", "ptx/tcgen05_commit", "ptx/tcgen05_floats", "ptx/tcgen05_ld_st",
         "ptx/tcgen05_mma"});
  else if (t == Template::attention_hopper)
    add({"layout/swizzle", "layout/tile", "ptx/barrier", "ptx/bulk_tensor", "ptx/bulk_tensor_3d", "ptx/fence",
         "ptx/mbarrier", "ptx/stmatrix", "ptx/wgmma", "ptx/wgmma_registers"});
  else if (t == Template::blackwell)
    add({"layout/instruction_descriptor", "layout/smem_descriptor", "layout/tensor_memory", "layout/tile",
         "ptx/bulk_tensor", "ptx/cluster", "ptx/elect", "ptx/fence", "ptx/launch_control", "ptx/mbarrier",
         "ptx/tcgen05_alloc", "ptx/tcgen05_commit", "ptx/tcgen05_ld_st"});
  else
    add({"layout/tile", "ptx/barrier", "ptx/bulk_tensor", "ptx/cluster", "ptx/counter", "ptx/fence", "ptx/mbarrier",
         "ptx/stmatrix", "ptx/wgmma"});
  if (t == Template::blackwell && problem.scales())
    add({"layout/scaled_instruction_descriptor", "ptx/tcgen05_cp", "ptx/tcgen05_mma_scaled"});
  else if (t == Template::blackwell)
    add({"ptx/tcgen05_mma"});
  return out;
}

std::set<std::string> included(std::string_view text) {
  std::set<std::string> out;
  const std::string_view begin = "#include \"";
  for (size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
    const size_t from = at + begin.size();
    out.emplace(text.substr(from, text.find('"', from) - from));
  }
  return out;
}

/// Under a name of its own first: other processes that search may read the file at the same time.
void write(const std::filesystem::path& path, std::string_view text) {
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  static std::atomic<int> number = 0;
  const std::filesystem::path part = fmt::format("{}.{}.{}", path.string(), getpid(), number++);
  std::ofstream out(part, std::ios::binary);
  out << text;
  if (!out.flush() || (std::filesystem::rename(part, path, failed), failed)) {
    std::filesystem::remove(part, failed);
    throw SearchError(fmt::format("{} cannot be written", path.string()));
  }
}

}  // namespace

std::string compiler_options(Template t) {
  const char* arch = is_blackwell(t) ? "100a" : "90a";
  // 177: a kernel does not call all of its template's functions.
  return fmt::format(
      "-diag-suppress 177 -std=c++20 -O2 -gencode arch=compute_{0},code=[compute_{0},sm_{0}] -cudart shared", arch);
}

std::string program(const Space& space, const Problem& problem, const Point& p, const std::string& about) {
  const Template t = space.kind();
  const bool attention = is_attention(t);
  const char* program_name = attention ? "attention" : "gemm";
  std::string out =
      fmt::format("// {}, written by gen5 search for {}.\n//\n//   {}\n//\n",
                  attention ? "O = softmax(Q · Kᵀ / √d) · V for each head" : "D[m × n] = A[m × k] · B[n × k]ᵀ",
                  name(problem), space.text(p));
  if (!about.empty()) out += about + "//\n";
  out += fmt::format("//   nvcc {} -I. THIS.cu -o {}\n//   ./{:<16}checks and times; --help for more\n",
                     compiler_options(t), program_name, program_name);
  out += includes(t, problem);
  out += "\nnamespace {\n\n// ---- The point\n\n";
  out += attention ? attention_constants(problem, p, t) : types(problem, t) + "\n" + constants(p, t);
  out += fmt::format("constexpr const char* kPoint = \"{}\";\n", space.text(p));
  out += attention ? fmt::format(
                         "struct Size {{\n  uint32_t heads, queries, keys;\n}};\nconstexpr Size kDefault{{{}, {}, "
                         "{}}};\n\n",
                         problem.heads, problem.m, problem.n)
                   : fmt::format("struct Size {{\n  uint32_t m, n, k;\n}};\nconstexpr Size kDefault{{{}, {}, {}}};\n\n",
                                 problem.m, problem.n, problem.k);
  std::vector<std::string> files{"host", fmt::format("{}_begin", program_name)};
  if (t == Template::blackwell) files.push_back(problem.scales() ? "gemm_scaled" : "gemm_plain");
  files.push_back(fmt::format("{}_{}", program_name, is_blackwell(t) ? "blackwell" : "hopper"));
  files.push_back("measure");
  if (!attention) files.push_back(problem.scales() ? "gemm_scaled_numbers" : "gemm_plain_numbers");
  files.push_back(fmt::format("{}_main", program_name));
  for (const std::string& file : files) {
    if (file.ends_with("well") || file.ends_with("hopper")) out += "// ---- The kernel\n//\n";
    out += text_of(fmt::format("common/kernels/{}.cuh", file));
    if (file != files.back()) out += "\n";
  }
  return out;
}

void write_program(const std::filesystem::path& folder, const std::string& name, const std::string& text) {
  write(folder / name, text);
  std::set<std::string> todo = included(text), done;
  while (!todo.empty()) {
    const std::string path = *todo.begin();
    todo.erase(todo.begin());
    if (!done.insert(path).second) continue;
    const std::string_view header = text_of(path);
    if (!std::filesystem::exists(folder / path)) write(folder / path, header);
    for (const std::string& next : included(header)) todo.insert(next);
  }
}

}  // namespace tinygpu::search
