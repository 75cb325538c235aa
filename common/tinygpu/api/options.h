// The settings of a run and the one table that describes them: environment variables, flags of `gen5 run`, `gen5 check`
// and `python -m gen5`, and keys of a session's JSON are all read, judged and explained by it.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "common/tinygpu/machine/events.h"
#include "common/tinygpu/timing/free_work.h"

namespace tinygpu::api {

/// A setting has a value that it does not accept. The sentence names both, and the values that it accepts.
class OptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Which checks a launch has: quick ones, the race check in place of them, or none (only what stops a kernel is told).
enum class Checks : uint8_t { quick, races, none };

/// What observers are attached to launches, and the files that they write. Empty names: no file.
struct ObservationOptions {
  Checks checks = Checks::quick;
  std::string trace;
  uint32_t trace_sms = 0, trace_kernels = 0;  // 0: a timeline's own limits
  bool profile = false;                       // printed at the end of the process
  std::string profile_json;
  std::string report;
  std::string against;        // a report that was written before: this run is compared with it
  std::string explain_order;  // two source places, a comma between
  bool coverage = false;      // say what a run has not put to the test
};

/// The table's help texts say what each is.
struct Options {
  enum class Device : uint8_t { automatic, hardware, tinygpu } device = Device::automatic;
  std::string machine = "b200";
  CompletionOrder order = {};
  int threads = 0;          // 0: all cores
  uint64_t max_cycles = 0;  // 0: no limit
  bool timing_only = false;
  FreeWork free = {};  // what takes no time
  bool memory_check = false;
  bool strict_tmem = false;
  /// What turns cycles into seconds: the clock that power leaves each launch behind those before it, or a loop of it,
  /// the highest clock, or `clock_mhz`.
  enum class Clock : uint8_t { power, sustained, highest, pinned } clock = Clock::power;
  double clock_mhz = 0;
  std::string ptxas = {};
  uint32_t ptxas_seconds = 300;
  bool counters = false;
  int exit_code = 0;        // of a process in which an error was diagnosed; 0: the program's own
  bool full_names = false;  // of kernels
  std::string sarif = {}, dump_ptx = {}, replace_ptx = {}, capture = {};
  ObservationOptions observation = {};
};

struct Option {
  const char* variable;          // "GEN5_ORDER"
  const char* flag = nullptr;    // "--order", of gen5 run; null: no command line sets it
  const char* key = nullptr;     // "order", of a session's JSON; null: a session cannot change it
  const char* values = nullptr;  // "timed|late|seeded", "N", "FILE"; null: it is on or off, 1 or 0
  bool of_check = false;         // gen5 check has the flag, too
  bool of_debug = false;         // and gen5 debug
  const char* help = "";
  /// Sets it. Empty, or what is wrong with `text`: "write timed, late or seeded".
  std::string (*set)(Options& options, std::string_view text) = nullptr;
};

/// All of them, in the order in which they are applied: a seed means order seeded, unless an order is given too.
std::span<const Option> option_table();

/// Sets one. Throws OptionError, in which `name` stands for the setting ("GEN5_ORDER", "--order").
void set_option(Options& options, const Option& option, std::string_view name, std::string_view text);

/// What the environment sets; variables that are empty count as absent. Throws OptionError.
Options options_from_environment();

/// `options`, changed by an object's members, each a key of the table. Members that `others` lists are left alone.
/// Throws OptionError for values, and for keys that are in neither.
Options with_json(Options options, const nlohmann::json& object, std::span<const std::string_view> others = {});

}  // namespace tinygpu::api
