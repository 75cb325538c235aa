// suld.b and sust.b (PTX ISA 9.7.11): reads and writes of surface objects by bytes, in one, two and three dimensions
// and in layers of one and of two. An access goes to memory as a load or store of the same bytes; the texture unit's
// own time is not modelled.
#include "common/tinygpu/isa/surface.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/engines/lsu/warp_access.h"
#include "common/tinygpu/machine/memory/surface.h"

namespace tinygpu::isa {

using ptx::Operand;

namespace {

enum class Outside : uint8_t { trap, clamp, zero };

struct SurfaceDetails {
  MemoryOperand memory;
  uint8_t dims;  // of a layer
  bool layered;
  uint8_t elements;  // 1, 2 or 4
  uint8_t bytes;     // of each, in memory
  Outside outside;
};
static_assert(sizeof(SurfaceDetails) <= Op::kDetails);

const SurfaceObject& object_at(Warp& w, const Op& op, uint64_t handle, int lane) {
  const Allocation* a = w.gpu().memory.find(handle);
  if (!a || a->base != handle || a->name != SurfaceObject::kName)
    w.fault(FaultKind::illegal_address, "surface-not-an-object", fmt::format("{:#x} is no surface object", handle),
            "give the kernel what cudaCreateSurfaceObject or cuSurfObjectCreate made, and destroy it after the launch",
            lane);
  const auto& s = *reinterpret_cast<const SurfaceObject*>(a->host);
  if (s.dims != op.get<SurfaceDetails>().dims || s.layered != op.get<SurfaceDetails>().layered)
    w.fault(FaultKind::not_modelled, "surface-outside",
            fmt::format("{} on a surface of {} dimensions {} layers; CUDA leaves open what happens",
                        w.function().instruction(op).spelling(), s.dims, s.layered ? "with" : "without"),
            "use the function that fits the array: surf1D…, surf2D…, surf3D…, surf1DLayered…, surf2DLayered…, "
            "surfCubemap…",
            lane);
  return s;
}

/// The device address of a lane's bytes; 0: outside, where nothing is read or written.
uint64_t place(Warp& w, const Op& op, const SurfaceObject& s, const uint32_t* coordinates, int lane) {
  const SurfaceDetails& k = op.get<SurfaceDetails>();
  const int64_t bytes = k.bytes * k.elements;
  const int64_t most[3] = {int64_t(s.row) - bytes, int64_t(s.height) - 1, int64_t(s.depth) - 1};
  int64_t at[3] = {};
  for (int d = 0; d < k.dims; ++d) at[d] = w.at<int32_t>(coordinates[d])[lane];
  if (k.layered) at[2] = w.at<uint32_t>(coordinates[k.dims])[lane];  // below zero it is behind the last one
  if (at[0] % bytes)
    w.fault(FaultKind::misaligned_address, "misaligned-address",
            fmt::format("surface access of {} bytes at x = {}, which is not a multiple of that", bytes, at[0]),
            "x counts bytes: multiply the index by the element's size", lane);
  for (int d = 0; d < 3; ++d) {
    if (at[d] >= 0 && at[d] <= most[d]) continue;
    if (k.outside == Outside::zero) return 0;
    if (k.outside == Outside::trap)
      w.fault(FaultKind::illegal_address, "surface-outside",
              fmt::format("surface access of {} bytes at {} = {}: {} to {} are inside", bytes,
                          d == 0      ? "x"
                          : d == 1    ? "y"
                          : k.layered ? "layer"
                                      : "z",
                          at[d], 0, most[d]),
              "x counts bytes; or pass cudaBoundaryModeZero or cudaBoundaryModeClamp", lane);
    at[d] = std::clamp<int64_t>(at[d], 0, std::max<int64_t>(most[d], 0));
  }
  return s.texels + uint64_t(at[2]) * s.slice + uint64_t(at[1]) * s.pitch + uint64_t(at[0]);
}

template <MemoryOp act>
void surface(Warp& w, const Op& op) {
  const SurfaceDetails& k = op.get<SurfaceDetails>();
  const uint32_t bytes = k.bytes * k.elements, width = std::max<uint32_t>(k.bytes, 2);
  const uint64_t* handles = w.at<uint64_t>(op.a);
  uint64_t address[32] = {};
  WarpAccess access;
  access.bytes = bytes;
  access.words = std::max(1u, bytes / 4);
  access.writes = act == MemoryOp::store;
  for_lanes(w.exec(), [&](int i) {
    const SurfaceObject& s = object_at(w, op, handles[i], i);
    address[i] = place(w, op, s, op.list + k.elements, i);
    uint8_t* bytes_there = address[i] ? w.gpu().memory.translate(address[i], bytes) : nullptr;
    if (address[i] && !bytes_there)
      w.fault(FaultKind::illegal_address, "illegal-address",
              "a surface's memory is no longer there: " + w.gpu().memory.describe(address[i]),
              "free the array behind a surface object after the launch", i);
    if (address[i]) access.global |= 1u << i;
    for (uint32_t e = 0; e < k.elements; ++e) {
      if (op.list[e] == kNoSlot) continue;
      uint8_t* value = w.at<uint8_t>(op.list[e]) + size_t(i) * width;
      if (act == MemoryOp::store) {
        if (bytes_there) std::memcpy(bytes_there + e * k.bytes, value, k.bytes);
      } else {
        std::memset(value, 0, width);
        if (bytes_there) std::memcpy(value, bytes_there + e * k.bytes, k.bytes);
      }
    }
  });
  if (!access.global) return;
  if (act == MemoryOp::store && w.watched()) ++w.partition().progress;
  if (w.told(Observer::global_accesses)) [[unlikely]]
    tell_lanes(w, op, ptx::Space::global, act, access.global, address, bytes);
  access.lines.add_lanes(w.gpu().l2, address, access.global, bytes);
  charge_access(w, op, access, act);
}

/// What both have: modifiers, the handle, and behind `slots` the coordinates'.
void decode(Decoder& d, Op& op, const Operand& where, const Operand& values, bool load) {
  const ptx::Instruction& i = *d.inst;
  SurfaceDetails k{};
  k.memory.space = ptx::Space::global;
  k.layered = i.has("a1d") || i.has("a2d");
  k.dims = i.has("1d") || i.has("a1d") ? 1 : i.has("2d") || i.has("a2d") ? 2 : i.has("3d") ? 3 : 0;
  if (!i.has("b") || !k.dims) d.not_modelled("formatted stores and other geometries are not there");
  k.elements = i.has("v2") ? 2 : i.has("v4") ? 4 : 1;
  k.bytes = i.has("b8") ? 1 : i.has("b16") ? 2 : i.has("b32") ? 4 : i.has("b64") ? 8 : 0;
  k.outside = i.has("clamp") ? Outside::clamp : i.has("zero") ? Outside::zero : Outside::trap;
  if (!k.bytes || i.has("ca") || i.has("cg") || i.has("cs") || i.has("cv") || i.has("wb") || i.has("wt"))
    d.not_modelled("cache operators are not there");
  if (where.elems.size() != 2 || where.elems[0].kind != Operand::Kind::reg ||
      where.elems[1].kind != Operand::Kind::vector)
    d.not_modelled("surface references are not there: CUDA has surface objects since 5.0");
  const AddressOperand handle = d.address(where);
  if (!handle.wide || handle.offset) d.not_modelled();
  op.a = handle.base;
  std::vector<uint32_t> slots;
  const auto add = [&](const Operand& o) {
    const int wanted = std::max<int>(k.bytes, 2);
    if (d.width(o, wanted) != wanted) d.not_modelled("a register of another width than the element");
    const ptx::Type type = k.bytes == 8 ? ptx::Type::b64 : k.bytes == 4 ? ptx::Type::b32 : ptx::Type::b16;
    slots.push_back(load ? d.dst(o) : d.src(o, type));
  };
  if (values.kind == Operand::Kind::vector)
    std::ranges::for_each(values.elems, add);
  else
    add(values);
  const auto& coordinates = where.elems[1].elems;  // the layer comes first
  if (coordinates.size() < size_t(k.dims + k.layered) || slots.size() != k.elements) d.not_modelled();
  for (int c = 0; c < k.dims; ++c) slots.push_back(d.src(coordinates[size_t(c + k.layered)], ptx::Type::s32));
  if (k.layered) slots.push_back(d.src(coordinates[0], ptx::Type::s32));
  d.set_list(op, slots);
  op.set(k);
}

}  // namespace

void decode_surface_load(Decoder& d, Op& op) {
  if (d.operand_count() != 2) d.not_modelled();
  decode(d, op, d.operand(1), d.operand(0), true);
  finish(d, op, surface<MemoryOp::load>, CostClass::global_load);
}

void decode_surface_store(Decoder& d, Op& op) {
  if (d.operand_count() != 2) d.not_modelled();
  decode(d, op, d.operand(0), d.operand(1), false);
  finish(d, op, surface<MemoryOp::store>, CostClass::global_store);
}

}  // namespace tinygpu::isa
