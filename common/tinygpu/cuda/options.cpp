#include "common/tinygpu/cuda/options.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "common/tinygpu/cuda/process.h"

namespace tinygpu::cuda {

namespace {

template <class T>
T number(const char* name, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw OptionError(fmt::format("{}={}: write a whole number that is not negative", name, text));
  return value;
}

}  // namespace

Options options_from_environment() {
  Options o;
  if (const auto v = variable("GEN5_DEVICE"); !v.empty()) {
    if (v == "hardware")
      o.device = Options::Device::hardware;
    else if (v == "tinygpu")
      o.device = Options::Device::tinygpu;
    else if (v != "auto")
      throw OptionError(fmt::format("GEN5_DEVICE={}: write auto, hardware or tinygpu", v));
  }
  if (const auto v = variable("GEN5_MACHINE"); !v.empty()) o.machine = v;
  if (const auto v = variable("GEN5_SEED"); !v.empty()) {
    o.order.seed = number<uint64_t>("GEN5_SEED", v);
    o.order.mode = CompletionOrder::Mode::seeded;
  }
  if (const auto v = variable("GEN5_ORDER"); !v.empty()) {
    if (v == "timed")
      o.order.mode = CompletionOrder::Mode::timed;
    else if (v == "late")
      o.order.mode = CompletionOrder::Mode::late;
    else if (v == "seeded")
      o.order.mode = CompletionOrder::Mode::seeded;
    else
      throw OptionError(fmt::format("GEN5_ORDER={}: write timed, late or seeded", v));
  }
  if (const auto v = variable("GEN5_TMEM_CHECKS"); !v.empty()) {
    if (v != "strict" && v != "warn") throw OptionError(fmt::format("GEN5_TMEM_CHECKS={}: write warn or strict", v));
    o.strict_tmem = v == "strict";
  }
  if (const auto v = variable("GEN5_THREADS"); !v.empty()) o.threads = int(number<uint16_t>("GEN5_THREADS", v));
  if (const auto v = variable("GEN5_MAX_CYCLES"); !v.empty()) o.max_cycles = number<uint64_t>("GEN5_MAX_CYCLES", v);
  if (const auto v = variable("GEN5_PTXAS_SECONDS"); !v.empty())
    o.ptxas_seconds = number<uint32_t>("GEN5_PTXAS_SECONDS", v);
  if (const auto v = variable("GEN5_TIMING_ONLY"); !v.empty()) o.timing_only = v != "0";
  if (const auto v = variable("GEN5_CLOCK"); !v.empty()) {
    if (v == "power") {
      o.clock = Options::Clock::power;
    } else if (v != "highest") {
      constexpr unsigned kLeast = 100, kMost = 10000;
      const bool digits = v.find_first_not_of("0123456789") == std::string_view::npos && v.size() <= 5;
      o.clock_mhz = digits ? number<uint32_t>("GEN5_CLOCK", v) : 0;
      if (o.clock_mhz < kLeast || o.clock_mhz > kMost)
        throw OptionError(fmt::format("GEN5_CLOCK={}: write highest, power, or {} to {} MHz", v, kLeast, kMost));
      o.clock = Options::Clock::pinned;
    }
  }
  if (const auto v = variable("GEN5_MEMORY_CHECK"); !v.empty()) o.memory_check = v != "0";
  if (const auto v = variable("GEN5_COUNTERS"); !v.empty()) o.counters = v != "0";
  return o;
}

ObservationOptions observation_from_environment() {
  ObservationOptions o;
  if (const auto v = variable("GEN5_CHECK"); !v.empty()) {
    if (v != "quick" && v != "races") throw OptionError(fmt::format("GEN5_CHECK={}: write quick or races", v));
    o.races = v == "races";
  }
  o.trace = variable("GEN5_TRACE");
  o.profile_json = variable("GEN5_PROFILE_JSON");
  o.report = variable("GEN5_REPORT");
  if (const auto v = variable("GEN5_TRACE_SMS"); !v.empty()) o.trace_sms = number<uint16_t>("GEN5_TRACE_SMS", v);
  if (const auto v = variable("GEN5_TRACE_KERNELS"); !v.empty())
    o.trace_kernels = number<uint32_t>("GEN5_TRACE_KERNELS", v);
  if (const auto v = variable("GEN5_PROFILE"); !v.empty()) o.profile = v != "0";
  return o;
}

}  // namespace tinygpu::cuda
