#include "common/tinygpu/image/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::image {

namespace {

using Kind = LoadError::Kind;

/// "sm_100a" → 100 and 'a' (0 without suffix). False if it is something else.
bool split_target(std::string_view target, int& number, char& suffix) {
  if (!target.starts_with("sm_")) return false;
  target.remove_prefix(3);
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), number);
  if (error != std::errc()) return false;
  const size_t rest = target.size() - size_t(end - target.data());
  suffix = rest ? *end : '\0';
  return rest <= 1;
}

/// Of two targets that run here: the one the driver prefers is the higher, and the more specific of equals.
int preference(std::string_view target) {
  int number = 0;
  char suffix = 0;
  if (!split_target(target, number, suffix)) return -1;
  return number * 4 + (suffix == 'a' ? 2 : suffix == 'f' ? 1 : 0);
}

std::string rebuild_advice(const MachineSpec& spec) {
  const int cc = spec.compute_major * 10 + spec.compute_minor;
  return fmt::format("rebuild with -gencode arch=compute_{0}a,code=[sm_{0}a,compute_{0}a]", cc);
}

/// The PTX of one container that runs here, if any, with what lies beside it; `seen`: the targets that it has.
void choose(Bytes container, const MachineSpec& spec, const KeptPtx& kept, Images& out, std::vector<std::string>& seen,
            bool& cubins) {
  PtxImage best;
  std::string best_target;
  const std::vector<FatbinEntry> entries = read_fatbin(container);
  for (const FatbinEntry& e : entries) {
    cubins |= e.kind == FatbinEntry::Kind::cubin;
    if (e.kind != FatbinEntry::Kind::ptx) continue;
    std::string text = e.image();
    const std::string target(ptx_target(text));
    seen.push_back(target);
    if (!target_runs_on(target, spec.compute_major, spec.compute_minor)) continue;
    if (preference(target) <= preference(best_target)) continue;
    best.text = std::move(text);
    best_target = target;
  }
  for (size_t i = 0; i < entries.size() && best_target.empty() && kept; ++i) {
    if (entries[i].kind != FatbinEntry::Kind::cubin) continue;
    auto text = kept(entries[i].image());
    if (!text || !target_runs_on(ptx_target(*text), spec.compute_major, spec.compute_minor)) continue;
    best.text = std::move(*text);
    best_target = ptx_target(best.text);
  }
  if (best_target.empty()) return;
  const int number = target_number(best_target);
  for (const FatbinEntry& e : entries)
    if (e.kind == FatbinEntry::Kind::cubin && e.arch == uint32_t(number)) {
      const std::string cubin = e.image();
      best.assembled = true;
      const Bytes bytes(reinterpret_cast<const uint8_t*>(cubin.data()), cubin.size());
      for (const auto& [name, k] : read_cubin(bytes)) out.resources[name] = k;
      for (auto& [name, code] : read_machine_code(bytes)) out.machine_code[name] = std::move(code);
    }
  out.ptx.push_back(std::move(best));
}

std::string nothing_runs(const MachineSpec& spec, std::vector<std::string> seen, bool cubins) {
  if (seen.empty())
    return cubins ? fmt::format(
                        "the program carries machine code (cubin) only, and tinygpu runs PTX; {}; of CuTe DSL and "
                        "Triton, gen5.install() before they are imported keeps it",
                        rebuild_advice(spec))
                  : fmt::format("the fatbin is empty; {}", rebuild_advice(spec));
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  std::string message =
      fmt::format("the program carries PTX for {} only, and the machine {} is sm_{}{}; {}", fmt::join(seen, ", "),
                  spec.name, spec.compute_major, spec.compute_minor, rebuild_advice(spec));
  for (const auto& [target, machine] : {std::pair{"sm_90a", "h200"}, {"sm_100a", "b200"}})
    if (std::find(seen.begin(), seen.end(), target) != seen.end())
      message += fmt::format(", or run it with GEN5_MACHINE={}", machine);
  return message;
}

[[noreturn]] void refuse_cubin() {
  throw LoadError(
      Kind::no_binary,
      "a cubin was given, and tinygpu runs PTX; load the PTX text instead (nvcc --ptx; of NVRTC, gen5 run; of CuTe "
      "DSL, Triton and numba, gen5.install() in Python before they are imported)");
}

Images take_text(std::string text, const MachineSpec& spec) {
  const std::string target(ptx_target(text));
  if (target.empty())
    throw LoadError(Kind::invalid_image, "the image is neither PTX (no .target), a fatbin nor a cubin");
  if (!target_runs_on(target, spec.compute_major, spec.compute_minor))
    throw LoadError(Kind::no_binary, fmt::format("the PTX is for {}, and the machine {} is sm_{}{}", target, spec.name,
                                                 spec.compute_major, spec.compute_minor));
  Images out;
  out.ptx.push_back({std::move(text)});
  return out;
}

/// f(), where a malformed container is an invalid image.
template <class F>
Images well_formed(F&& f) {
  try {
    return f();
  } catch (const FatbinError& e) {
    throw LoadError(Kind::invalid_image, e.what());
  }
}

}  // namespace

bool target_runs_on(std::string_view target, int major, int minor) {
  int number = 0;
  char suffix = 0;
  if (!split_target(target, number, suffix)) return false;
  const int here = major * 10 + minor;
  if (suffix == 'a') return number == here;
  if (suffix == 'f') return number / 10 == major && number <= here;
  return suffix == '\0' && number <= here;
}

int target_number(std::string_view target) {
  int number = 0;
  char suffix = 0;
  return split_target(target, number, suffix) ? number : 0;
}

Images choose_images(const std::vector<Bytes>& containers, const MachineSpec& spec, const KeptPtx& kept) {
  return well_formed([&] {
    Images out;
    std::vector<std::string> seen;
    bool cubins = false;
    for (const Bytes& container : containers) choose(container, spec, kept, out, seen, cubins);
    if (out.ptx.empty()) throw LoadError(Kind::no_binary, nothing_runs(spec, std::move(seen), cubins));
    return out;
  });
}

Images images_of(const FatbinWrapper* wrapper, const MachineSpec& spec, const KeptPtx& kept) {
  return well_formed([&] { return choose_images(containers_of(wrapper), spec, kept); });
}

Images images_at(const void* image, const MachineSpec& spec, const KeptPtx& kept) {
  if (!host_accessible(image, 1, false))
    throw LoadError(Kind::invalid_image, fmt::format("there is no memory at {}, where the image should be", image));
  return well_formed([&] {
    if (is_wrapper(image)) return images_of(static_cast<const FatbinWrapper*>(image), spec, kept);
    if (begins_as_fatbin(image))
      return choose_images({Bytes(static_cast<const uint8_t*>(image), fatbin_size(image))}, spec, kept);
    if (begins_with(image, kElfMagic, sizeof kElfMagic)) refuse_cubin();
    const char* text = static_cast<const char*>(image);
    const auto length = text_length(text);
    if (!length)
      throw LoadError(Kind::invalid_image,
                      "the image is neither a fatbin nor a cubin, and for PTX the 0 at its end is missing");
    return take_text(std::string(text, *length), spec);
  });
}

Images images_of(Bytes file, const MachineSpec& spec, const KeptPtx& kept) {
  if (is_fatbin(file)) return choose_images({file}, spec, kept);
  if (is_elf(file)) refuse_cubin();
  std::string text(file.begin(), file.end());
  text.resize(std::min(text.size(), text.find('\0')));
  return take_text(std::move(text), spec);
}

}  // namespace tinygpu::image
