// Which registers have one value in all lanes of a warp that run together, as far as ptxas can prove it: it combines
// the atomics of a warp whose address is such a register.
#include <algorithm>
#include <string_view>

#include "common/tinygpu/program/lower/flow.h"
#include "common/tinygpu/program/lower/touch.h"

namespace tinygpu {
namespace {

using Kind = ptx::Operand::Kind;

/// A special register that the lanes of a warp share. (%tid.y and %tid.z too differ within a warp of a wide CTA.)
bool shared_special(std::string_view name) {
  for (const std::string_view prefix : {"ctaid", "nctaid", "ntid", "clusterid", "nclusterid", "cluster_", "gridid",
                                        "dynamic_smem_size", "total_smem_size"})
    if (name.starts_with(prefix)) return true;
  return false;
}

bool reads_lane(const ptx::Operand& o) {
  if (o.kind == Kind::special && !shared_special(o.name)) return true;
  return std::ranges::any_of(o.elems, reads_lane);
}

/// The results differ from lane to lane whatever goes in.
bool differs(const ptx::Instruction& i) {
  using ptx::Opcode;
  using ptx::Subject;
  switch (i.opcode) {
    case Opcode::atom:
    case Opcode::shfl:
    case Opcode::shfl_sync:
    case Opcode::match_sync:
    case Opcode::elect_sync:
    case Opcode::call: return true;
    case Opcode::ld: return i.has("local");
    default: break;
  }
  const Subject s = ptx::traits_of(i.opcode).subject;
  return s == Subject::matrix || s == Subject::wgmma || s == Subject::tensor_memory || s == Subject::texture ||
         s == Subject::mbarrier;
}

/// The results are the same in all lanes whatever goes in.
bool unites(const ptx::Instruction& i) {
  return i.opcode == ptx::Opcode::vote || i.opcode == ptx::Opcode::vote_sync || i.opcode == ptx::Opcode::redux_sync;
}

}  // namespace

bool is_uniform(const ptx::Operand& o, const std::vector<bool>& uniform_registers) {
  switch (o.kind) {
    case Kind::address: return is_uniform(o.elems.at(0), uniform_registers);
    case Kind::reg: return o.reg < uniform_registers.size() && uniform_registers[o.reg];
    case Kind::special: return shared_special(o.name);
    default: return o.kind == Kind::integer || o.kind == Kind::real || o.kind == Kind::symbol;
  }
}

std::vector<bool> find_uniform(const ptx::Function& f, const Flow& flow, const std::vector<Touch>& touches) {
  std::vector<bool> varies(f.registers.size()), apart(flow.blocks.size());
  std::vector<uint32_t> written(f.registers.size());
  for (const Touch& t : touches)
    for (const uint32_t r : t.defs)
      if (r < written.size()) ++written[r];
  const auto varying = [&](uint32_t r) { return r < varies.size() && varies[r]; };
  // Blocks that only some lanes of a warp may run: between a branch that lanes take differently and where they meet.
  const auto part_at = [&](size_t branch) {
    std::vector<uint32_t> next = flow.blocks[branch].next;
    while (!next.empty()) {
      const uint32_t b = next.back();
      next.pop_back();
      if (int32_t(b) == flow.post_dominator[branch] || apart[b]) continue;
      apart[b] = true;
      next.insert(next.end(), flow.blocks[b].next.begin(), flow.blocks[b].next.end());
    }
  };
  std::vector<bool> parted(flow.blocks.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = 0; b < flow.blocks.size(); ++b) {
      for (uint32_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
        const ptx::Instruction& inst = f.body[i];
        const Touch& t = touches[i];
        const bool some_lanes = inst.guard >= 0 && varying(uint32_t(inst.guard));
        const bool result =
            some_lanes || (!unites(inst) && (differs(inst) || std::ranges::any_of(inst.operands, reads_lane) ||
                                             std::ranges::any_of(t.uses, varying)));
        for (const auto* list : {&t.defs, &t.async_defs})
          for (const uint32_t r : *list)
            // A register that is written twice differs between lanes that came different ways.
            if (r < varies.size() && !varies[r] && (result || list == &t.async_defs || (apart[b] && written[r] > 1)))
              varies[r] = changed = true;
      }
      const uint32_t last = flow.blocks[b].end - 1;
      if (!parted[b] && flow.blocks[b].divergent && std::ranges::any_of(touches[last].uses, varying)) {
        parted[b] = changed = true;
        part_at(b);
      }
    }
  }
  varies.flip();
  return varies;
}

}  // namespace tinygpu
