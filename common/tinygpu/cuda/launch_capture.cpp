#include "common/tinygpu/cuda/launch_capture.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "common/tinygpu/base/fnv.h"
#include "common/tinygpu/cuda/launch.h"
#include "common/tinygpu/cuda/state.h"
#include "common/tinygpu/cuda/unwritable.h"

namespace tinygpu::cuda {
namespace {

using Json = nlohmann::ordered_json;
using Bytes = std::span<const uint8_t>;

constexpr uint64_t kMost = uint64_t(256) << 20;  // bytes of a launch's memory

Json shape(const Dim3& d) { return {d.x, d.y, d.z}; }

class Writer {
 public:
  Writer(State& s, const std::filesystem::path& folder) : s_(s), folder_(folder) {
    std::error_code none;
    std::filesystem::create_directories(folder_, none);
  }

  Json of(const RunningLaunch& r) {
    Module& module = *r.kernel->module;
    const LaunchConfig& c = r.config;
    Json out = {{"kernel", r.kernel->name},
                {"ptx", module.captured_ptx()},
                {"grid", shape(c.grid)},
                {"block", shape(c.block)},
                {"cluster", c.explicit_cluster || c.cluster.count() > 1 ? shape(c.cluster) : Json()},
                {"shared", c.dynamic_shared},
                {"cooperative", c.cooperative},
                {"parameters", file(c.params)}};
    follow(c.params);
    out["variables"] = Json::array();
    for (const std::string& name : module.variables())
      if (const auto v = module.variable(name); v && v->size) {
        const Bytes bytes{s_.machine.memory().at(v->address, v->size), v->size};
        out["variables"].push_back({{"name", name}, {"bytes", v->size}, {"file", file(bytes)}});
        follow(bytes);
      }
    out["memory"] = Json::array();
    for (const auto& [address, a] : reached_)
      if (a->name.empty())
        out["memory"].push_back(
            {{"address", fmt::format("{:#x}", address)}, {"bytes", a->size}, {"file", file({a->host, a->size})}});
    if (!left_out_.empty()) out["left_out"] = left_out_;
    return out;
  }

  /// Other processes may write into the folder, too.
  std::string free_name(uint64_t number) const {
    std::error_code none;
    for (;; ++number)
      if (std::string name = fmt::format("{:05}.json", number); !std::filesystem::exists(folder_ / name, none))
        return name;
  }
  void write(const std::string& name, Bytes bytes) {
    std::ofstream out(folder_ / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
    if (!out.flush()) say_unwritable((folder_ / name).string());
  }

 private:
  std::string file(Bytes bytes) {
    const std::string name = fmt::format("{:016x}.bin", fnv1a(bytes));
    std::error_code none;
    if (!std::filesystem::exists(folder_ / name, none)) write(name, bytes);
    return name;
  }
  void follow(Bytes bytes) {
    for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      const Allocation* a = s_.machine.memory().find(word);
      if (!a || reached_.contains(a->base)) continue;
      if (a->kind == MemoryKind::registered) {
        left_out_ = "it uses registered memory of the host";
      } else if (a->size > kMost - total_) {
        left_out_ = fmt::format("its memory has more than {} MiB", kMost >> 20);
      } else {
        total_ += a->size;
        reached_[a->base] = a;
        follow({a->host, a->size});
      }
    }
  }

  State& s_;
  const std::filesystem::path folder_;
  std::map<uint64_t, const Allocation*> reached_;
  uint64_t total_ = 0;
  std::string left_out_;
};

}  // namespace

void capture(State& s, const RunningLaunch& launch) {
  Writer w(s, s.options.capture);
  const std::string text = w.of(launch).dump(1) + "\n";
  w.write(w.free_name(s.machine.launches()), {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace tinygpu::cuda
