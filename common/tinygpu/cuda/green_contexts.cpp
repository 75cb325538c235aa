#include "common/tinygpu/cuda/green_contexts.h"

#include <algorithm>
#include <cstring>

#include "common/tinygpu/api/machine.h"
#include "common/tinygpu/base/align_up.h"
#include "common/tinygpu/base/of_thread.h"

namespace tinygpu::cuda {
namespace {

// The least part of a chip, and the unit of larger ones: 8 SMs, so that portable clusters fit, and a TPC where nobody
// asks for that (CUDA programming guide, green contexts, compute capability 9.0 and later).
constexpr uint32_t kUnit = 8, kUnitAnywhere = 2;

/// What a resource keeps where its users see padding.
struct Inside {
  static constexpr uint32_t kMagic = 0x736d7331;
  uint32_t magic = 0;
  uint32_t split = 0;  // the number of the split that it is a result of; 0: it can be split
  uint8_t sms[84] = {};
  bool has(uint32_t sm) const { return sms[sm / 8] >> sm % 8 & 1; }
  void add(uint32_t sm) { sms[sm / 8] = uint8_t(sms[sm / 8] | 1 << sm % 8); }
};
static_assert(sizeof(Inside) == sizeof(CUdevResource::_internal_padding));

/// False if tinygpu did not make it.
bool read(const CUdevResource& r, Inside& out) {
  std::memcpy(&out, r._internal_padding, sizeof out);
  return r.type == CU_DEV_RESOURCE_TYPE_SM && out.magic == Inside::kMagic;
}

CUdevResource resource(std::span<const uint32_t> sms, uint32_t split, uint32_t least, uint32_t aligned) {
  Inside inside;
  inside.magic = Inside::kMagic;
  inside.split = split;
  for (const uint32_t sm : sms) inside.add(sm);
  CUdevResource out{};
  out.type = CU_DEV_RESOURCE_TYPE_SM;
  std::memcpy(out._internal_padding, &inside, sizeof inside);
  out.sm.smCount = unsigned(sms.size());
  out.sm.minSmPartitionSize = least;
  out.sm.smCoscheduledAlignment = aligned;
  return out;
}

CUdevResource resource(const SmSet& set, uint32_t aligned) {
  std::vector<uint32_t> sms;
  for (uint32_t sm = 0; sm < set.size(); ++sm)
    if (set[sm]) sms.push_back(sm);
  return resource(sms, 0, std::min(kUnit, uint32_t(sms.size())), aligned);
}

}  // namespace

CUdevResource GreenContexts::whole() const { return resource(SmSet(size_t(machine_.spec().sms), true), kUnit); }

CUresult GreenContexts::split(const CUdevResource& input, unsigned least, bool anywhere, unsigned& groups,
                              CUdevResource* out, CUdevResource* remaining) {
  if (input.type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  Inside from;
  if (!read(input, from) || from.split) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  if (least > input.sm.smCount) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t unit = anywhere ? kUnitAnywhere : kUnit;
  std::vector<uint32_t> in_units;
  for (const std::vector<uint32_t>& sms : machine_.sm_groups(unit))
    if (std::ranges::all_of(sms, [&](uint32_t sm) { return from.has(sm); }))
      in_units.insert(in_units.end(), sms.begin(), sms.end());
  const uint32_t each = align_up(std::max(least, unit), unit);
  const auto possible = uint32_t(in_units.size()) / each;
  if (possible == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  groups = out ? std::min(groups, possible) : possible;
  if (!out) return CUDA_SUCCESS;
  ++splits_;
  const std::span<const uint32_t> all(in_units);
  for (uint32_t i = 0; i < groups; ++i) out[i] = resource(all.subspan(size_t(i) * each, each), splits_, unit, unit);
  if (!remaining) return CUDA_SUCCESS;
  std::vector<uint32_t> rest;
  const auto given = all.first(size_t(groups) * each);
  for (uint32_t sm = 0; sm < uint32_t(machine_.spec().sms); ++sm)
    if (from.has(sm) && std::ranges::find(given, sm) == given.end()) rest.push_back(sm);
  *remaining = rest.empty() ? CUdevResource{} : resource(rest, splits_, kUnitAnywhere, kUnitAnywhere);
  return CUDA_SUCCESS;
}

CUresult GreenContexts::describe(std::span<const CUdevResource> resources, CUdevResourceDesc& out) {
  auto set = std::make_unique<SmSet>(size_t(machine_.spec().sms), false);
  uint32_t first_split = 0;
  for (const CUdevResource& r : resources) {
    Inside in;
    if (r.type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (!read(r, in)) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    if (&r == resources.data()) first_split = in.split;
    if (resources.size() > 1 && (!in.split || in.split != first_split))
      return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    for (uint32_t sm = 0; sm < set->size(); ++sm) {
      if (!in.has(sm)) continue;
      if ((*set)[sm]) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
      (*set)[sm] = true;
    }
  }
  out = reinterpret_cast<CUdevResourceDesc>(set.get());
  described_[set.get()] = std::move(set);
  return CUDA_SUCCESS;
}

CUresult GreenContexts::create(CUdevResourceDesc description, CUgreenCtx& out) {
  const auto it = described_.find(description);
  if (it == described_.end()) return CUDA_ERROR_INVALID_VALUE;
  auto context = std::make_shared<GreenContext>();
  context->sms = std::make_shared<const SmSet>(*it->second);
  context->resource = resource(*context->sms, kUnit);
  context->id = ++created_;
  out = reinterpret_cast<CUgreenCtx>(context.get());
  live_[context.get()] = std::move(context);
  return CUDA_SUCCESS;
}

std::shared_ptr<GreenContext> GreenContexts::find(const void* handle) const {
  const auto it = live_.find(handle);
  return it == live_.end() ? nullptr : it->second;
}

void GreenContexts::destroy(const void* handle) {
  const auto it = live_.find(handle);
  it->second->destroyed = true;
  live_.erase(it);
}

std::shared_ptr<const GreenContext>& GreenContexts::current() {
  static const OfThread<std::shared_ptr<const GreenContext>> own;
  return own.get();
}

}  // namespace tinygpu::cuda
