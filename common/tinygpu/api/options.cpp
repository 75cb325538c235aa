#include "common/tinygpu/api/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/tinygpu/base/source_place.h"

namespace tinygpu::api {

namespace {

using Mode = CompletionOrder::Mode;

/// Values of a setting that has a few.
template <class T>
struct Word {
  std::string_view word;
  T value;
};

template <class T, size_t N>
std::string choose(T& to, std::string_view text, const Word<T> (&words)[N]) {
  for (const auto& [word, value] : words)
    if (text == word) {
      to = value;
      return {};
    }
  std::string all;
  for (size_t i = 0; i < N; ++i) all += fmt::format("{}{}", i == 0 ? "" : i + 1 == N ? " or " : ", ", words[i].word);
  return "write " + all;
}

/// A whole number of these.
template <class T>
std::string number(T& to, std::string_view text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) {
    to = T(value);
    return {};
  }
  return most == ~uint64_t(0) ? "write a whole number that is not negative"
                              : fmt::format("write a whole number from {} to {}", least, most);
}

std::string flag(bool& to, std::string_view text) {
  return choose(to, text, {{"1", true}, {"0", false}, {"true", true}, {"false", false}});
}

std::string keep(std::string& to, std::string_view text) {
  to = text;
  return {};
}

std::string seed(Options& o, std::string_view text) {
  o.order.mode = Mode::seeded;
  return number(o.order.seed, text, 0, ~uint64_t(0));
}

std::string late_only(Options& o, std::string_view text) {
  auto places = std::make_shared<std::vector<SourcePlace>>();
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string wrong = SourcePlace::read(text.substr(at, end - at), places->emplace_back());
    if (!wrong.empty()) return wrong + ", several with commas between";
    at = end + 1;
  }
  o.order = {.mode = Mode::late, .late_only = std::move(places)};
  return {};
}

std::string clock(Options& o, std::string_view text) {
  constexpr uint32_t kLeast = 100, kMost = 10000;
  using Clock = Options::Clock;
  for (const auto& [word, value] :
       {Word<Clock>{"power", Clock::power}, {"sustained", Clock::sustained}, {"highest", Clock::highest}})
    if (text == word) {
      o.clock = value;
      return {};
    }
  uint32_t mhz = 0;
  if (!number(mhz, text, kLeast, kMost).empty())
    return fmt::format("write power, sustained, highest, or {} to {} MHz", kLeast, kMost);
  o.clock = Options::Clock::pinned;
  o.clock_mhz = mhz;
  return {};
}

std::string ptxas(Options& o, std::string_view text) {
  o.ptxas = text;
  return access(o.ptxas.c_str(), F_OK) == 0 ? "" : "there is no such file";
}

std::string explain_order(Options& o, std::string_view text) {
  const size_t comma = text.find(',');
  SourcePlace place;
  if (comma == text.npos) return "write two places with a comma between";
  for (const std::string_view one : {text.substr(0, comma), text.substr(comma + 1)})
    if (const std::string wrong = SourcePlace::read(one, place); !wrong.empty()) return wrong;
  return keep(o.observation.explain_order, text);
}

constexpr uint64_t kAny = ~uint64_t(0);

constexpr Option kTable[] = {
    {.variable = "GEN5_DEVICE",
     .values = "auto|hardware|tinygpu",
     .help = "Where a program runs that is started directly: hardware means NVIDIA's libraries; auto (default) means "
             "those if a Blackwell GPU is present, and otherwise tinygpu",
     .set =
         [](Options& o, std::string_view t) {
           using Device = Options::Device;
           return choose(o.device, t,
                         {{"auto", Device::automatic}, {"hardware", Device::hardware}, {"tinygpu", Device::tinygpu}});
         }},
    {.variable = "GEN5_MACHINE",
     .flag = "--machine",
     .values = "NAME|FILE",
     .of_check = true,
     .of_debug = true,
     .help = "Machine profile: a name (b200, h200) or a path",
     .set = [](Options& o, std::string_view t) { return keep(o.machine, t); }},
    {.variable = "GEN5_SEED",
     .flag = "--seed",
     .key = "seed",
     .values = "N",
     .of_debug = true,
     .help = "A random legal order of completion, chosen by this seed",
     .set = seed},
    {.variable = "GEN5_ORDER",
     .flag = "--order",
     .key = "order",
     .values = "timed|late|seeded",
     .of_debug = true,
     .help = "When asynchronous effects land: at their time (default), as late as is legal, or in a random legal order",
     .set =
         [](Options& o, std::string_view t) {
           return choose(o.order.mode, t, {{"timed", Mode::timed}, {"late", Mode::late}, {"seeded", Mode::seeded}});
         }},
    {.variable = "GEN5_LATE_ONLY",
     .flag = "--late-only",
     .values = "PLACE,PLACE…",
     .of_debug = true,
     .help = "Order late for what these lines start alone; all else lands at its time. A place is LINE, FILE:LINE or "
             "ptx:LINE",
     .set = late_only},
    {.variable = "GEN5_CHECK",
     .flag = "--check",
     .key = "check",
     .values = "quick|races|none",
     .of_debug = true,
     .help =
         "Which checks run. quick (default) includes the race check of each grid's first cluster. races searches for "
         "every missing order between accesses to shared, global and Tensor Memory, and takes up to five times as "
         "long. none looks for nothing, where only the clock counts: what stops a kernel is told all the same",
     .set =
         [](Options& o, std::string_view t) {
           return choose(o.observation.checks, t,
                         {{"quick", Checks::quick}, {"races", Checks::races}, {"none", Checks::none}});
         }},
    {.variable = "GEN5_MEMORY_CHECK",
     .flag = "--memory",
     .of_check = true,
     .of_debug = true,
     .help = "Report device memory that is read before it is written, and memory that is never freed",
     .set = [](Options& o, std::string_view t) { return flag(o.memory_check, t); }},
    {.variable = "GEN5_TMEM_CHECKS",
     .flag = "--tmem-checks",
     .key = "tmem_checks",
     .values = "warn|strict",
     .of_check = true,
     .of_debug = true,
     .help = "For accesses to Tensor Memory that the PTX ISA forbids and hardware permits: a warning (default) or an "
             "error",
     .set =
         [](Options& o, std::string_view t) {
           return choose(o.strict_tmem, t, {{"warn", false}, {"strict", true}});
         }},
    {.variable = "GEN5_THREADS",
     .flag = "--threads",
     .key = "threads",
     .values = "N",
     .of_check = true,
     .help = "Host threads, 0 for all cores (default); results of kernels without races do not depend on them",
     .set = [](Options& o, std::string_view t) { return number(o.threads, t, 0, 65535); }},
    {.variable = "GEN5_MAX_CYCLES",
     .flag = "--max-cycles",
     .key = "max_cycles",
     .values = "N",
     .of_check = true,
     .of_debug = true,
     .help = "Stop a kernel that runs for more than N cycles, and say where its warps are; 0 (default) is no limit",
     .set = [](Options& o, std::string_view t) { return number(o.max_cycles, t, 0, kAny); }},
    {.variable = "GEN5_CLOCK",
     .flag = "--clock",
     .values = "power|sustained|highest|MHZ",
     .of_check = true,
     .of_debug = true,
     .help =
         "The clock that converts cycles to seconds: that of a launch after the launches before it, limited by power "
         "(default), that of a long loop of the launch, the highest, or MHZ. Cycles do not change",
     .set = clock},
    {.variable = "GEN5_TIMING_ONLY",
     .flag = "--timing-only",
     .key = "timing_only",
     .of_debug = true,
     .help = "Only the clock: matrices are not multiplied and bulk copies move no bytes, so results are worthless, and "
             "races are not looked for",
     .set = [](Options& o, std::string_view t) { return flag(o.timing_only, t); }},
    {.variable = "GEN5_FREE",
     .flag = "--free",
     .values = "loads|mmas|waits|bank-conflicts, commas between",
     .help =
         "This work takes no time, to see how much of a kernel's time depends on it (notes/your_kernels.md has what "
         "each means). Only the clock changes, no result",
     .set = [](Options& o, std::string_view t) { return read_free_work(o.free, t); }},
    {.variable = "GEN5_COUNTERS",
     .flag = "--counters",
     .help = "Print launches, cycles, instructions, matrix instructions and TMA bytes per kernel at the end",
     .set = [](Options& o, std::string_view t) { return flag(o.counters, t); }},
    {.variable = "GEN5_PROFILE",
     .flag = "--profile",
     .help = "At the end print where each kernel's time went: by role, by cause of waiting, by source line",
     .set = [](Options& o, std::string_view t) { return flag(o.observation.profile, t); }},
    {.variable = "GEN5_PROFILE_JSON",
     .flag = "--profile-json",
     .values = "FILE",
     .help = "Write the whole profile into this file",
     .set = [](Options& o, std::string_view t) { return keep(o.observation.profile_json, t); }},
    {.variable = "GEN5_TRACE",
     .flag = "--trace",
     .values = "FILE",
     .help = "Write a timeline into this file, for ui.perfetto.dev",
     .set = [](Options& o, std::string_view t) { return keep(o.observation.trace, t); }},
    {.variable = "GEN5_TRACE_SMS",
     .flag = "--trace-sms",
     .values = "N",
     .help = "SMs that timelines show (default: 4)",
     .set = [](Options& o, std::string_view t) { return number(o.observation.trace_sms, t, 1, 65535); }},
    {.variable = "GEN5_TRACE_KERNELS",
     .flag = "--trace-kernels",
     .values = "N",
     .help = "Launches that timelines show (default: 8)",
     .set = [](Options& o, std::string_view t) { return number(o.observation.trace_kernels, t, 1, 1000000); }},
    {.variable = "GEN5_REPORT",
     .flag = "--report",
     .values = "FILE",
     .help = "Write a page for a browser into this file: what limits each kernel, profile with source, timelines, "
             "roofline, banks, diagnoses",
     .set = [](Options& o, std::string_view t) { return keep(o.observation.report, t); }},
    {.variable = "GEN5_AGAINST",
     .flag = "--against",
     .values = "FILE",
     .help = "Compare this run with that of an earlier report: at the end in the terminal, and in the page of --report",
     .set = [](Options& o, std::string_view t) { return keep(o.observation.against, t); }},
    {.variable = "GEN5_COVERAGE",
     .help = "Note what the run does not test, and code that breaks no rule but can hardly be meant, as gen5 check "
             "does",
     .set = [](Options& o, std::string_view t) { return flag(o.observation.coverage, t); }},
    {.variable = "GEN5_EXPLAIN_ORDER",
     .values = "PLACE,PLACE",
     .help = "Print the chain of synchronisation that orders the first line before the second in the first cluster, or "
             "where the chain breaks. A place is LINE, FILE:LINE or ptx:LINE",
     .set = explain_order},
    {.variable = "GEN5_SARIF",
     .flag = "--sarif",
     .values = "FILE",
     .help = "Write the diagnoses into this file as SARIF 2.1.0; %p in its name becomes the process's number",
     .set = [](Options& o, std::string_view t) { return keep(o.sarif, t); }},
    {.variable = "GEN5_FULL_NAMES",
     .flag = "--full-names",
     .of_check = true,
     .of_debug = true,
     .help = "Call kernels by their full C++ names: by default diagnoses, profiles and timelines shorten them",
     .set = [](Options& o, std::string_view t) { return flag(o.full_names, t); }},
    {.variable = "GEN5_EXIT_CODE",
     .flag = "--exit-code",
     .values = "N",
     .help = "Exit code of a program with a diagnosed error, whatever the program returns: 1 is the default of gen5 "
             "run, 0 keeps the program's own",
     .set = [](Options& o, std::string_view t) { return number(o.exit_code, t, 0, 255); }},
    {.variable = "GEN5_DUMP_PTX",
     .flag = "--dump-ptx",
     .values = "FOLDER",
     .help = "Write the PTX that the program loads into this folder",
     .set = [](Options& o, std::string_view t) { return keep(o.dump_ptx, t); }},
    {.variable = "GEN5_REPLACE_PTX",
     .flag = "--replace-ptx",
     .values = "FOLDER",
     .of_debug = true,
     .help = "Load PTX from the file that --dump-ptx would write into this folder, if there is one: edit it there",
     .set = [](Options& o, std::string_view t) { return keep(o.replace_ptx, t); }},
    {.variable = "GEN5_CAPTURE",
     .flag = "--capture",
     .values = "FOLDER",
     .help =
         "Write each launch into this folder as it begins: its PTX, shape, parameters and the memory that these lead "
         "to. The book's pages run them again",
     .set = [](Options& o, std::string_view t) { return keep(o.capture, t); }},
    {.variable = "GEN5_PTXAS",
     .flag = "--ptxas",
     .values = "FILE",
     .of_debug = true,
     .help =
         "This ptxas makes machine code of PTX that comes without, such as a just-in-time compiler's, and prices its "
         "loops; without this option the PTX prices them",
     .set = ptxas},
    {.variable = "GEN5_PTXAS_SECONDS",
     .flag = "--ptxas-seconds",
     .values = "N",
     .of_debug = true,
     .help = "How long one run of that ptxas may take (default: 300)",
     .set = [](Options& o, std::string_view t) { return number(o.ptxas_seconds, t, 1, 1000000); }},
};

std::string text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return value.dump();
}

}  // namespace

std::span<const Option> option_table() { return kTable; }

void set_option(Options& options, const Option& option, std::string_view name, std::string_view text) {
  if (const std::string wrong = option.set(options, text); !wrong.empty())
    throw OptionError(fmt::format("{}={}: {}", name, text, wrong));
}

Options options_from_environment() {
  Options o;
  for (const Option& option : kTable)
    if (const char* text = std::getenv(option.variable); text && *text) set_option(o, option, option.variable, text);
  return o;
}

Options with_json(Options options, const nlohmann::json& object, std::span<const std::string_view> others) {
  if (!object.is_object()) throw OptionError(fmt::format("{}: write an object", object.dump()));
  for (const auto& item : object.items()) {
    const std::string& key = item.key();
    if (std::ranges::find(others, key) == others.end() &&
        std::ranges::none_of(kTable, [&](const Option& o) { return o.key && key == o.key; }))
      throw OptionError(fmt::format("{}: there is no such option", key));
  }
  for (const Option& option : kTable)
    if (option.key && object.contains(option.key))
      set_option(options, option, option.key, text_of(object.at(option.key)));
  return options;
}

}  // namespace tinygpu::api
