// tex (PTX ISA 9.7.10.3): reads of texture objects in one, two and three dimensions, of layers and of cubes. A read
// goes to memory as the load of its first texel; that filtering takes more of them, and the texture unit's own time,
// are not modelled.
#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/engines/lsu/load_store_unit.h"
#include "common/tinygpu/engines/lsu/warp_access.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/surface.h"
#include "common/tinygpu/machine/memory/texture.h"

namespace tinygpu::isa {

using ptx::Operand;

namespace {

struct TextureDetails {
  MemoryOperand memory;
  uint8_t dims;  // of a layer, or of a cube's face
  bool cube, layered;
  bool by_integer;
  bool floats;  // what the destination takes
  uint8_t coordinates() const { return cube ? 3 : dims; }
};
static_assert(sizeof(TextureDetails) <= Op::kDetails);

const TextureObject& object_at(Warp& w, uint64_t handle, int lane) {
  const Allocation* a = w.gpu().memory.find(handle);
  if (!a || a->base != handle || a->name != TextureObject::kName)
    w.fault(FaultKind::illegal_address, "texture-not-an-object", fmt::format("{:#x} is no texture object", handle),
            "pass the kernel a handle from cudaCreateTextureObject or cuTexObjectCreate, and destroy the object after "
            "the launch",
            lane);
  return *reinterpret_cast<const TextureObject*>(a->host);
}

void check(Warp& w, const Op& op, const TextureObject& t, int lane) {
  const TextureDetails& k = op.get<TextureDetails>();
  const char* wrong =
      k.dims != t.dims                  ? "the texture has another number of dimensions"
      : k.cube != t.cube                ? "cubes are read by a direction, and other textures are not"
      : k.layered != (t.layers != 0)    ? "a texture with layers is read with a layer, and one without them without"
      : k.by_integer != t.linear_memory ? "linear memory is read by an integer, an array and pitched memory by floats"
      : k.floats != reads_floats(t)     ? "floats are read from integers, or integers from floats"
                                        : nullptr;
  if (wrong)
    w.fault(FaultKind::not_modelled, "texture-read-otherwise",
            std::string(w.function().instruction(op).spelling()) + ": " + wrong + "; CUDA leaves the result undefined",
            "read the texture by the function and the type that fit its resource and its descriptor", lane);
}

void tex(Warp& w, const Op& op) {
  const TextureDetails& k = op.get<TextureDetails>();
  const uint64_t* handles = w.at<uint64_t>(op.a);
  uint64_t address[8][32];
  uint32_t lanes[8] = {};
  uint32_t bytes = 4;
  const TextureObject* object = nullptr;  // of `named`: mostly all lanes name one
  uint64_t named = 0;
  LoadStoreUnit& lsu = LoadStoreUnit::of(w);
  for_lanes(w.exec(), [&](int i) {
    if (!object || handles[i] != named) {
      named = handles[i];
      object = &object_at(w, named, i);
      check(w, op, *object, i);
    }
    const TextureObject& t = *object;
    Taps taps;
    if (k.by_integer) {
      taps = taps_of(t, w.at<int32_t>(op.list[4])[i]);
    } else {
      float at[3];
      for (int d = 0; d < k.coordinates(); ++d) at[d] = w.at<float>(op.list[4 + d])[i];
      taps = taps_of(t, at, k.layered ? w.at<uint32_t>(op.list[4 + k.coordinates()])[i] : 0);
    }
    bytes = t.format.bytes();
    const uint8_t* texel[8] = {};
    for (uint32_t n = 0; n < taps.count; ++n) {
      if (!taps.inside[n]) continue;
      const uint64_t here = t.texels + taps.offset[n];
      texel[n] = lsu.global_bytes(w, here, bytes);
      if (!texel[n])
        w.fault(FaultKind::illegal_address, "illegal-address",
                "a texture's memory no longer exists:  " + w.gpu().memory.describe(here),
                "free the array or the memory behind a texture object after the launch", i);
      address[n][i] = here;
      lanes[n] |= 1u << i;
    }
    uint32_t out[4];
    read_texture(t, taps, texel, out);
    for (int c = 0; c < 4; ++c)
      if (op.list[c] != kNoSlot) w.at<uint32_t>(op.list[c])[i] = out[c];
  });
  if (w.told(Observer::global_accesses)) [[unlikely]]
    for (int n = 0; n < 8; ++n)
      if (lanes[n]) tell_lanes(w, op, ptx::Space::global, MemoryOp::load, lanes[n], address[n], bytes);
  WarpAccess access;
  access.bytes = bytes;
  access.global = lanes[0];
  access.lines.add_lanes(w.gpu().l2, address[0], lanes[0], bytes);
  charge_access(w, op, access, MemoryOp::load);
}

void decode_tex(Decoder& d, Op& op) {
  const auto& mods = d.inst->mods;
  TextureDetails k{};
  k.memory.space = ptx::Space::global;
  k.memory.cached = true;
  struct Geometry {
    std::string_view name;
    uint8_t dims;
    bool cube, layered;
  };
  constexpr Geometry kGeometries[] = {{"1d", 1, false, false}, {"2d", 2, false, false}, {"3d", 3, false, false},
                                      {"a1d", 1, false, true}, {"a2d", 2, false, true}, {"cube", 2, true, false},
                                      {"acube", 2, true, true}};
  const auto* g = std::ranges::find(kGeometries, mods.empty() ? "" : std::string_view(mods[0]), &Geometry::name);
  if (mods.size() != 4 || g == std::end(kGeometries) || mods[1] != "v4")
    d.not_modelled("tinygpu has no mipmaps, multi-samples and packed halves");
  k.dims = g->dims, k.cube = g->cube, k.layered = g->layered;
  if (d.operand_count() != 2 || d.operand(0).kind != Operand::Kind::vector)
    d.not_modelled("no offsets, depth comparison and residency");
  const std::string_view to = mods[2], by = mods[3];
  k.floats = to == "f32";
  k.by_integer = by == "s32";
  if ((to != "f32" && to != "s32" && to != "u32") || (by != "f32" && !(k.by_integer && k.dims == 1 && !k.layered)))
    d.not_modelled("32-bit results, by floats, or by an integer in one dimension");
  const Operand& from = d.operand(1);
  if (from.elems.size() != 2 || from.elems[0].kind != Operand::Kind::reg || from.elems[1].kind != Operand::Kind::vector)
    d.not_modelled("texture references and samplers of their own are not there: CUDA has texture objects since 5.0");
  const AddressOperand handle = d.address(from);
  if (!handle.wide || handle.offset) d.not_modelled();
  op.a = handle.base;
  std::vector<uint32_t> slots;
  for (const Operand& o : d.operand(0).elems) slots.push_back(d.dst(o));
  const auto& given = from.elems[1].elems;  // the layer comes first
  if (given.size() < size_t(k.coordinates() + k.layered) || slots.size() != 4) d.not_modelled();
  for (int i = 0; i < k.coordinates(); ++i)
    slots.push_back(d.src(given[size_t(i + k.layered)], k.by_integer ? ptx::Type::s32 : ptx::Type::f32));
  if (k.layered) slots.push_back(d.src(given[0], ptx::Type::u32));
  d.set_list(op, slots);
  op.set(k);
  finish(d, op, tex, CostClass::global_load);
}

constexpr Entry kTextureTable[] = {
    {Opcode::tex, decode_tex},
    {Opcode::suld, decode_surface_load},
    {Opcode::sust, decode_surface_store},
};

}  // namespace

Table texture_table() { return {kTextureTable}; }

}  // namespace tinygpu::isa
