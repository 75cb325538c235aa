#include "common/tinygpu/observe/report/launches.h"

#include <algorithm>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/observe/wording.h"

namespace tinygpu::observe {
namespace {

constexpr size_t kLaunchesShown = 32, kPlacesShown = 8;

std::array<uint32_t, 11> key_of(const TensorBox& b) {
  const TensorMap& m = b.map;
  return {uint32_t(m.element),
          uint32_t(m.swizzle),
          m.atomicity,
          m.interleave,
          uint32_t(b.tile.mode),
          m.pixels,
          m.box[0],
          m.box[1],
          m.box[2],
          m.box[3],
          m.box[4]};
}

/// The name that the machine profile gives to the peak of such a matrix instruction: "f16" for .kind::f16 and .bf16.
/// "other" where it has none.
std::string matrix_kind(std::string_view ptx, bool mma_sync = false) {
  struct Rule {
    std::string_view part, kind;
  };
  // The longer of two that begin alike comes first.
  static constexpr Rule kRules[] = {
      {".kind::mxf8f6f4", "f8"}, {".kind::f8f6f4", "f8"}, {".kind::i8", "f8"}, {".kind::mxf4", "f4"},
      {".kind::tf32", "tf32"},   {".kind::f16", "f16"},   {".tf32", "tf32"},   {".e4m3", "f8"},
      {".e5m2", "f8"},           {".s8", "f8"},           {".u8", "f8"},       {".bf16", "f16"},
      {".f16", "f16"},
  };
  for (const Rule& r : kRules) {
    if (ptx.find(r.part) == std::string_view::npos) continue;
    // mma.sync of e4m3 and e5m2 is made of f16 ones (notes/evidence.md).
    const bool emulated = mma_sync && r.part.starts_with(".e");
    return std::string(emulated ? "f16" : r.kind);
  }
  return "other";
}

/// Kinds of the mma.sync in a kernel's own code: unlike operations they don't come one by one.
void add_mma_sync_kinds(const Function& kernel, std::set<std::string>& kinds) {
  for (const ptx::Instruction& i : kernel.source->body)
    if (i.opcode == ptx::Opcode::mma_sync) kinds.insert(matrix_kind(i.spelling(), true));
  if (kinds.empty()) kinds.insert("other");  // in a function that it calls
}

}  // namespace

void Launches::set_timeline(int64_t index) {
  if (book_->last) book_->at(*book_->last).timeline = index;
}

void Launches::add(const Diagnosis& d) {
  if (d.severity != Severity::error) return;
  // Of those that run, the one that it names, or the last one.
  const Place* found = nullptr;
  const auto named = [&, name = readable_name(d.where.kernel)](const Place& p) {
    return book_->kernels[p.kernel].name == name;
  };
  for (const Place& p : book_->open)
    if (!found || named(p) || !named(*found)) found = &p;
  if (found && book_->at(*found).fault.empty()) book_->at(*found).fault = d.code;
}

void Launches::on_launch(const Launch& launch) {
  parts_.clear(launch);
  std::vector<KernelRecord>& kernels = book_->kernels;
  std::erase_if(book_->open, [&](const Place& p) { return !book_->at(p).fault.empty(); });
  const LaunchConfig& c = launch.config;
  const std::string name = readable_name(c.kernel->name);
  auto k = std::find_if(kernels.begin(), kernels.end(), [&](const KernelRecord& r) { return r.name == name; });
  if (k == kernels.end()) {
    kernels.emplace_back().name = name;
    k = kernels.end() - 1;
  }
  kernel_ = size_t(k - kernels.begin());
  place_.reset();
  if (k->launches.size() == kLaunchesShown) {
    ++k->launches_left_out;
    return;
  }
  LaunchRecord& r = k->launches.emplace_back();
  r.grid = c.grid;
  r.block = c.block;
  r.cluster = c.cluster;
  r.registers = c.kernel->registers_per_thread;
  r.static_shared = c.kernel->static_shared;
  r.dynamic_shared = c.dynamic_shared;
  place_ = {kernel_, k->launches.size() - 1};
  book_->open.push_back(*place_);
}

void Launches::on_complete(const AsyncOperation& o) {
  Part& part = parts_.of(o);
  using Kind = AsyncOperation::Kind;
  if ((o.kind == Kind::mma || o.kind == Kind::wgmma) && part.seen.insert(o.who.op).second)
    part.matrix_kinds.insert(matrix_kind(o.who.where().ptx_text));
  if (!o.box) return;
  BoxUse& use = part.boxes[key_of(*o.box)];
  if (!use.loads && !use.stores) {
    use.box = *o.box;
    use.shared = o.shared;
  }
  ++(o.kind == Kind::tensor_load ? use.loads : use.stores);
  if (use.places.size() < kPlacesShown) use.places.insert(place_of(o.who.where()));
}

void Launches::on_end(const Launch& launch, const LaunchStats* stats) {
  KernelRecord& k = book_->kernels[kernel_];
  book_->last = place_;
  for (const Part& part : parts_) {
    k.matrix_kinds.insert(part.matrix_kinds.begin(), part.matrix_kinds.end());
    for (const auto& [key, use] : part.boxes) {
      const auto known = std::find_if(k.boxes.begin(), k.boxes.end(),
                                      [&, key = key](const BoxUse& b) { return key_of(b.box) == key; });
      if (known == k.boxes.end()) {
        k.boxes.push_back(use);
        continue;
      }
      known->loads += use.loads;
      known->stores += use.stores;
      known->places.insert(use.places.begin(), use.places.end());
    }
  }
  if (!stats) return;
  for (const char* family : {"tcgen05.mma", "wgmma.mma_async", "mma.sync"})
    if (const auto n = stats->counters.find(std::string(family) + " operations"); n != stats->counters.end())
      k.operations += n->second;
  if (stats->counters.contains("mma.sync")) add_mma_sync_kinds(*launch.config.kernel, k.matrix_kinds);
  if (!place_) return;
  LaunchRecord& r = book_->at(*place_);
  r.finished = true;
  r.cycles = stats->cycles;
  std::erase(book_->open, *place_);
}

}  // namespace tinygpu::observe
