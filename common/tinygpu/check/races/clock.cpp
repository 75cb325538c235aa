#include "common/tinygpu/check/races/clock.h"

#include <algorithm>

namespace tinygpu::races {
namespace {

bool covers(const Clock& a, const Clock& b) {
  const size_t n = std::min(a.size(), b.size());
  uint32_t behind = 0;
  for (size_t i = 0; i < n; ++i) behind |= uint32_t(a[i] < b[i]);
  if (behind) return false;
  return std::all_of(b.begin() + long(n), b.end(), [](Epoch e) { return e == 0; });
}

const ClockRef kNothing;

}  // namespace

ClockRef joined(const ClockRef& a, const ClockRef& b) {
  if (a == b || !b) return a;
  if (!a || covers(*b, *a)) return b;
  if (covers(*a, *b)) return a;
  const Clock &large = a->size() >= b->size() ? *a : *b, &small = a->size() >= b->size() ? *b : *a;
  auto out = std::make_shared<Clock>(large);
  for (size_t i = 0; i < small.size(); ++i) (*out)[i] = std::max((*out)[i], small[i]);
  return out;
}

ClockRef advanced(const ClockRef& c, const std::vector<Step>& steps) {
  Component last = 0;
  bool known = true;
  for (const auto& [component, epoch] : steps) {
    last = std::max(last, component);
    known &= epoch_of(c, component) >= epoch;
  }
  if (known) return c;
  auto out = c ? std::make_shared<Clock>(*c) : std::make_shared<Clock>();
  if (out->size() <= last) out->resize(last + 1);
  for (const auto& [component, epoch] : steps) (*out)[component] = std::max((*out)[component], epoch);
  return out;
}

const ClockRef& Sight::of(uint64_t own, uint64_t cluster) const {
  if (cluster == own) return here;
  if (!elsewhere) return kNothing;
  const auto it = std::ranges::lower_bound(*elsewhere, cluster, {}, &Others::value_type::first);
  return it != elsewhere->end() && it->first == cluster ? it->second : kNothing;
}

void Sight::join(const Sight& from) {
  here = joined(here, from.here);
  if (elsewhere == from.elsewhere || !from.elsewhere) return;
  if (!elsewhere) {
    elsewhere = from.elsewhere;
    return;
  }
  Others all;
  auto a = elsewhere->begin(), b = from.elsewhere->begin();
  while (a != elsewhere->end() || b != from.elsewhere->end()) {
    if (b == from.elsewhere->end() || (a != elsewhere->end() && a->first < b->first)) {
      all.push_back(*a++);
    } else if (a == elsewhere->end() || b->first < a->first) {
      all.push_back(*b++);
    } else {
      all.emplace_back(a->first, joined(a->second, b->second));
      ++a, ++b;
    }
  }
  if (all == *from.elsewhere)
    elsewhere = from.elsewhere;
  else if (all != *elsewhere)
    elsewhere = std::make_shared<const Others>(std::move(all));
}

Sight Sight::exported(uint64_t own) const {
  if (!here) return *this;
  Sight out;
  out.elsewhere = std::make_shared<const Others>(Others{{own, here}});
  Sight others;
  others.elsewhere = elsewhere;
  out.join(others);
  return out;
}

Sight Sight::imported(uint64_t own) const {
  Sight out = *this;
  out.here = joined(here, of(own + 1, own));
  return out;
}

Views Views::exported(uint64_t own) const {
  Views out;
  for (int v = 0; v < kViews; ++v) out.of[v] = of[v].exported(own);
  return out;
}

Views Views::imported(uint64_t own) const {
  Views out;
  for (int v = 0; v < kViews; ++v) out.of[v] = of[v].imported(own);
  return out;
}

}  // namespace tinygpu::races
