#include "common/tinygpu/debug/registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/base/hex.h"
#include "common/tinygpu/program/lower/decoder.h"

namespace tinygpu::debug {
namespace {

size_t bytes_of(const ptx::Register& r) { return size_t(std::max(1, ptx::size_of(r.type))); }

}  // namespace

std::optional<CallPlace> call_of(const Group& g, size_t number) {
  if (number == 0) return CallPlace{g.function, g.pc, g.register_base, g.local_base};
  if (number > g.stack.size()) return {};
  const CallFrame& f = g.stack[g.stack.size() - number];
  return CallPlace{f.function, f.return_pc ? f.return_pc - 1 : 0, f.register_base, f.local_base};
}

Registers::Registers(const Warp& w, const CallPlace& at) : warp_(w), at_(at) {
  if (std::ranges::none_of(w.pending, [](const Warp::Pending& p) { return p.channel == kAsyncWgmma; })) return;
  for (const ptx::Instruction& i : at.function->source->body)
    if (i.opcode == ptx::Opcode::wgmma_mma_async || i.opcode == ptx::Opcode::wgmma_mma_async_sp)
      if (const ptx::Operand* d = i.operand("d"))
        for (const ptx::Operand& e : d->elems) accumulators_.insert(e.reg);
}

bool Registers::awaited(const RegisterPlace& p) const {
  if (accumulators_.contains(p.reg)) return true;
  const uint32_t begin = at_.register_base + p.slot, end = begin + uint32_t(32 * bytes_of(declared(p)));
  return std::ranges::any_of(warp_.pending, [&](const Warp::Pending& l) {
    return l.channel == kAsyncTmemLoad && l.slot < end && begin < l.slot + l.bytes;
  });
}

// Its first op writes it: before that the slot may be another register's.
bool Registers::holds(const RegisterPlace& p) const { return stands(p) && !awaited(p); }

const RegisterPlace* Registers::find(uint32_t reg) const {
  for (const RegisterPlace& p : at_.function->registers)
    if (p.reg == reg && holds(p)) return &p;
  return nullptr;
}

const RegisterPlace* Registers::find(const std::string& name) const {
  for (const RegisterPlace& p : at_.function->registers)
    if (declared(p).name == name && holds(p)) return &p;
  return nullptr;
}

std::string Registers::missing(const std::string& name) const {
  if (std::ranges::none_of(at_.function->source->registers, [&](const ptx::Register& r) { return r.name == name; }))
    return fmt::format("{} has no register {}", at_.function->name, name);
  for (const RegisterPlace& p : at_.function->registers)
    if (declared(p).name == name && stands(p))
      return fmt::format(
          "{} has no value here: an instruction is under way that writes it, and no wait for it lies between", name);
  return fmt::format(
      "{} has no value here: it is not written yet, or not read any more, and its place may be another register's",
      name);
}

const uint8_t* Registers::slot(const RegisterPlace& p) const {
  return warp_.registers().data() + at_.register_base + p.slot;
}

Json Registers::values(const RegisterPlace& p) const {
  Json out = Json::array();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const std::string bytes = this->bytes(p, lane);
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
    if (bytes.size() > sizeof(value))
      out.push_back(hex(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
    else
      out.push_back(value);
  }
  return out;
}

std::string Registers::bytes(const RegisterPlace& p, uint32_t lane) const {
  const uint8_t* from = slot(p);
  if (declared(p).type == ptx::Type::pred) {
    uint32_t mask;
    std::memcpy(&mask, from, 4);
    return {char(mask >> lane & 1)};
  }
  const size_t size = bytes_of(declared(p));
  return {reinterpret_cast<const char*>(from) + lane * size, size};
}

uint32_t Registers::word(const RegisterPlace& p, uint32_t lane) const {
  uint32_t out = 0;
  const std::string all = bytes(p, lane);
  std::memcpy(&out, all.data(), std::min(all.size(), sizeof(out)));
  return out;
}

}  // namespace tinygpu::debug
