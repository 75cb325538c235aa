#include "common/tinygpu/debug/variable_bytes.h"

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <string>

#include "common/tinygpu/base/hex.h"
#include "common/tinygpu/debug/registers.h"
#include "common/tinygpu/machine/chip/cta.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/program/lower/local_layout.h"

namespace tinygpu::debug {
namespace {

constexpr uint64_t kMostBytes = 1 << 16;  // of one item

Json missing(std::string sentence) { return {{"missing", std::move(sentence)}}; }

class Memory {
 public:
  Memory(const Warp& w, const CallPlace& at) : warp_(w), at_(at), layout_(lay_out_local(*at.function)) {}

  /// Null: there are no such bytes.
  const uint8_t* local(uint32_t lane, uint64_t offset, uint64_t size) const {
    if (offset > kLocalLimit || size > kLocalLimit - offset) return nullptr;
    try {
      // Bytes that no instruction has touched are made when they are first asked for, and hold the same whenever that
      // is.
      return const_cast<Warp&>(warp_).local(lane, uint32_t(offset), uint32_t(size));
    } catch (const std::exception&) {
      return nullptr;
    }
  }
  const uint8_t* shared(Cta* cta, uint64_t offset, uint64_t size) const {
    if (!cta || offset < kSharedBase || offset > cta->shared.size() || size > cta->shared.size() - offset)
      return nullptr;
    return cta->shared.data() + offset;
  }
  const uint8_t* param(uint64_t offset, uint64_t size) const {
    const auto& bank = warp_.partition().launch.config.params;
    return offset <= bank.size() && size <= bank.size() - offset ? bank.data() + offset : nullptr;
  }
  const uint8_t* generic(uint32_t lane, uint64_t address, uint64_t size) const {
    const auto lies_in = [&](uint64_t window) { return address - window < kWindowSize; };
    if (lies_in(kSharedWindow)) {
      const auto at = uint32_t(address - kSharedWindow);
      return shared(warp_.cluster().cta(at >> 24), at & 0xffffff, size);
    }
    if (lies_in(kLocalWindow)) return local(lane, address - kLocalWindow, size);
    if (lies_in(kParamWindow)) return param(address - kParamWindow, size);
    return warp_.gpu().memory.translate(address, size);
  }
  /// A variable's bytes; null: it is nowhere.
  const uint8_t* named(const std::string& space, const std::string& symbol, uint32_t lane, uint64_t offset,
                       uint64_t size) const {
    if (space == "local" || (space == "param" && !at_.function->entry)) {
      const auto found = layout_.offsets.find(symbol);
      return found == layout_.offsets.end() ? nullptr : local(lane, at_.local_base + found->second + offset, size);
    }
    if (space == "param") {
      const auto& params = at_.function->source->params;
      for (size_t k = 0; k < params.size(); ++k)
        if (params[k].name == symbol) return param(at_.function->params[k].offset + offset, size);
      return nullptr;
    }
    if (space == "shared") {
      const auto at = shared_offset(symbol);
      return at ? shared(&warp_.cta(), *at + offset, size) : nullptr;
    }
    const LoadedVariable* variable = warp_.partition().launch.config.program->variable(symbol);
    return variable ? warp_.gpu().memory.translate(variable->address + offset, size) : nullptr;
  }

 private:
  std::optional<uint32_t> shared_offset(const std::string& symbol) const {
    const Function& kernel = *warp_.partition().launch.config.kernel;
    for (const auto* declared : {&at_.function->source->locals, &at_.function->module->variables})
      for (const ptx::Variable& v : *declared)
        if (const auto at = kernel.shared_offsets.find(&v); v.name == symbol && at != kernel.shared_offsets.end())
          return at->second;
    return {};
  }

  const Warp& warp_;
  const CallPlace& at_;
  const LocalLayout layout_;
};

Json item_bytes(const Json& item, const Registers& registers, const Memory& memory) {
  Json lanes = Json::array();
  if (item.contains("register")) {
    const std::string name = item["register"];
    const RegisterPlace* place = registers.find(name);
    if (!place) return missing(registers.missing(name));
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const std::string bytes = registers.bytes(*place, lane);
      lanes.push_back(hex(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
    }
    return {{"bytes", lanes}};
  }
  const uint64_t size = item.value("size", uint64_t(0));
  if (!size || size > kMostBytes) return missing(fmt::format("{} bytes are none, or too many at once", size));
  bool any = false;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint8_t* at = nullptr;
    if (!item.contains("addresses"))
      at = memory.named(item.at("space"), item.at("symbol"), lane, item.value("offset", uint64_t(0)), size);
    else if (const Json& address = item["addresses"].at(lane); !address.is_null())
      at = memory.generic(lane, address, size);
    any |= at != nullptr;
    lanes.push_back(at ? Json(hex(at, size)) : Json(nullptr));
  }
  if (!any) return missing("there is no memory at its address");
  return {{"bytes", lanes}};
}

}  // namespace

Json variable_bytes(const Json& request, const Warp& w, const Group& g) {
  const auto at = call_of(g, request.value("call", size_t(0)));
  if (!at) return {{"error", "there is no such call"}};
  const Registers registers(w, *at);
  const Memory memory(w, *at);
  Json out = {{"lanes", g.mask}, {"items", Json::array()}};
  for (const Json& item : request.value("items", Json::array()))
    out["items"].push_back(item_bytes(item, registers, memory));
  return out;
}

}  // namespace tinygpu::debug
