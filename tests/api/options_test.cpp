// One table reads, judges and explains every option, wherever it is set.
#include "common/tinygpu/api/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace tinygpu::api {
namespace {

/// A variable of the environment, for a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

const Option& option(const std::string& variable) {
  for (const Option& o : option_table())
    if (o.variable == variable) return o;
  throw std::runtime_error("no option " + variable);
}

std::string refusal(const std::string& variable, const std::string& value) {
  const Variable set(variable.c_str(), value.c_str());
  try {
    options_from_environment();
  } catch (const OptionError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Options, EachHasOneRowAndAHelpText) {
  std::set<std::string> variables, flags, keys;
  for (const Option& o : option_table()) {
    EXPECT_TRUE(variables.insert(o.variable).second) << o.variable;
    EXPECT_THAT(o.variable, testing::StartsWith("GEN5_"));
    if (o.flag) {
      EXPECT_TRUE(flags.insert(o.flag).second) << o.flag;
    }
    if (o.key) {
      EXPECT_TRUE(keys.insert(o.key).second) << o.key;
    }
    EXPECT_GT(std::string(o.help).size(), 20u) << o.variable;
    EXPECT_NE(o.set, nullptr) << o.variable;
  }
}

TEST(Options, TheEnvironmentSetsThem) {
  const Variable machine("GEN5_MACHINE", "h200"), cycles("GEN5_MAX_CYCLES", "18446744073709551615"),
      tmem("GEN5_TMEM_CHECKS", "strict"), trace("GEN5_TRACE", "t.json"), sms("GEN5_TRACE_SMS", "65535"),
      clock("GEN5_CLOCK", "1410"), counters("GEN5_COUNTERS", "1"), profile("GEN5_PROFILE", "0"),
      code("GEN5_EXIT_CODE", "255");
  const Options o = options_from_environment();
  EXPECT_EQ(o.machine, "h200");
  EXPECT_EQ(o.max_cycles, ~uint64_t(0));
  EXPECT_TRUE(o.strict_tmem);
  EXPECT_EQ(o.observation.trace, "t.json");
  EXPECT_EQ(o.observation.trace_sms, 65535u);
  EXPECT_EQ(o.clock, Options::Clock::pinned);
  EXPECT_EQ(o.clock_mhz, 1410);
  EXPECT_TRUE(o.counters);
  EXPECT_FALSE(o.observation.profile);
  EXPECT_EQ(o.exit_code, 255);
}

TEST(Options, EmptyVariablesCountAsAbsent) {
  const Variable order("GEN5_ORDER", ""), threads("GEN5_THREADS", "");
  EXPECT_EQ(options_from_environment().order.mode, CompletionOrder::Mode::timed);
}

TEST(Options, ASeedMeansSeededUnlessAnOrderIsGiven) {
  const Variable seed("GEN5_SEED", "7");
  EXPECT_EQ(options_from_environment().order.mode, CompletionOrder::Mode::seeded);
  EXPECT_EQ(options_from_environment().order.seed, 7u);
  const Variable order("GEN5_ORDER", "late");
  EXPECT_EQ(options_from_environment().order.mode, CompletionOrder::Mode::late);
}

TEST(Options, BadValuesAreRefusedWithWhatToWrite) {
  const std::pair<const char*, std::map<const char*, const char*>> all[] = {
      {"write auto, hardware or tinygpu", {{"GEN5_DEVICE", "gpu"}}},
      {"write timed, late or seeded", {{"GEN5_ORDER", "early"}}},
      {"write quick, races or none", {{"GEN5_CHECK", "Races"}}},
      {"write warn or strict", {{"GEN5_TMEM_CHECKS", "1"}}},
      {"write a whole number that is not negative", {{"GEN5_SEED", "-1"}, {"GEN5_MAX_CYCLES", "18446744073709551616"}}},
      {"write a whole number from 0 to 65535", {{"GEN5_THREADS", "all"}}},
      {"write a whole number from 1 to 65535", {{"GEN5_TRACE_SMS", "0"}}},
      {"write a whole number from 1 to 1000000", {{"GEN5_TRACE_KERNELS", "8 "}, {"GEN5_PTXAS_SECONDS", "1e3"}}},
      {"write a whole number from 0 to 255", {{"GEN5_EXIT_CODE", "256"}}},
      {"write one or more of loads, mmas, waits, bank-conflicts, with commas between", {{"GEN5_FREE", "loads mmas"}}},
      {"write power, sustained, highest, or 100 to 10000 MHz", {{"GEN5_CLOCK", "99"}}},
      {"write 1, 0, true or false",
       {{"GEN5_MEMORY_CHECK", "please"}, {"GEN5_TIMING_ONLY", "2"}, {"GEN5_COUNTERS", "-"}, {"GEN5_PROFILE", "no"}}},
      {"there is no such file", {{"GEN5_PTXAS", "/no/such/ptxas"}}},
  };
  for (const auto& [advice, settings] : all)
    for (const auto& [variable, value] : settings)
      EXPECT_EQ(refusal(variable, value), std::string(variable) + "=" + value + ": " + advice);
}

TEST(Options, AJsonObjectChangesThem) {
  Options o;
  o.order.mode = CompletionOrder::Mode::late;
  o.max_cycles = 5;
  o = with_json(o, nlohmann::json::parse(R"({"seed": 3, "check": "races", "threads": 2, "timing_only": true})"));
  EXPECT_EQ(o.order.mode, CompletionOrder::Mode::seeded);
  EXPECT_EQ(o.order.seed, 3u);
  EXPECT_EQ(o.observation.checks, Checks::races);
  EXPECT_TRUE(o.timing_only);
  EXPECT_EQ(o.threads, 2);
  EXPECT_EQ(o.max_cycles, 5u) << "it was not named";
  o = with_json(o, nlohmann::json::parse(R"({"check": "none"})"));
  EXPECT_EQ(o.observation.checks, Checks::none);
  o = with_json(o, nlohmann::json::parse(R"({"check": "quick"})"));
  EXPECT_EQ(o.observation.checks, Checks::quick);
}

TEST(Options, AJsonObjectIsJudgedByTheSameTable) {
  const auto refused = [](const char* text) {
    constexpr std::string_view kOthers[] = {"profile"};
    try {
      with_json({}, nlohmann::json::parse(text), kOthers);
    } catch (const OptionError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused(R"({"order": "early"})"), "order=early: write timed, late or seeded");
  EXPECT_EQ(refused(R"({"max_cycles": 1.5})"), "max_cycles=1.5: write a whole number that is not negative");
  EXPECT_EQ(refused(R"({"threads": [1]})"), "threads=[1]: write a whole number from 0 to 65535");
  EXPECT_EQ(refused(R"({"machine": "h200"})"), "machine: there is no such option");
  EXPECT_EQ(refused(R"({"profile": 1})"), "accepted");
  EXPECT_EQ(refused("3"), "3: write an object");
}

TEST(Options, OneIsSetByName) {
  Options o;
  set_option(o, option("GEN5_ORDER"), "--order", "late");
  EXPECT_EQ(o.order.mode, CompletionOrder::Mode::late);
  EXPECT_THROW(set_option(o, option("GEN5_ORDER"), "--order", "x"), OptionError);
}

}  // namespace
}  // namespace tinygpu::api
