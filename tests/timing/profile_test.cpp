// The profile loader: what it reads, and what it says when a profile is wrong.
#include "common/tinygpu/timing/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
using testing::HasSubstr;
using tinygpu::CostClass;

json b200() {
  std::ifstream in(GEN5_MACHINES "/b200.json");
  return json::parse(in);
}

std::string error_of(const json& j) {
  try {
    tinygpu::parse_profile(j.dump(), "x.json");
  } catch (const tinygpu::ProfileError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Profile, ReadsTheB200) {
  const tinygpu::Profile p = tinygpu::read_profile("b200");
  EXPECT_EQ(p.spec.name, "b200");
  EXPECT_EQ(p.spec.compute_major, 10);
  EXPECT_EQ(p.spec.sms, 148);
  EXPECT_DOUBLE_EQ(p.spec.clock_ghz, 1.965);
  EXPECT_EQ(p.spec.shared_per_block_optin, 232448u);
  EXPECT_TRUE(p.spec.has_tmem);
  EXPECT_FALSE(p.spec.has_wgmma);
  EXPECT_EQ(p.spec.number("tcgen05.mma.fixed.ss.cg1.m128"), 136);
  EXPECT_EQ(p.spec.costs[size_t(CostClass::special)].issue, 1);
  EXPECT_EQ(p.spec.costs[size_t(CostClass::global_load)].latency, 300);
  EXPECT_TRUE(p.spec.costs[size_t(CostClass::global_load)].variable);
  EXPECT_FALSE(p.spec.costs[size_t(CostClass::fma)].variable);
}

TEST(Profile, ReadsTheH200) {
  const tinygpu::MachineSpec s = tinygpu::load_profile("h200");
  EXPECT_EQ(s.compute_major, 9);
  EXPECT_EQ(s.sms, 132);
  EXPECT_FALSE(s.has_tmem);
  EXPECT_TRUE(s.has_wgmma);
}

TEST(Profile, NamesAreListedAndAnUnknownOneNamesThem) {
  EXPECT_THAT(tinygpu::profile_names(), testing::IsSupersetOf({"b200", "h200"}));
  try {
    tinygpu::read_profile("b100");
    FAIL();
  } catch (const tinygpu::ProfileError& e) {
    EXPECT_THAT(e.what(), HasSubstr("no machine is called \"b100\"; known: b200, h200"));
  }
}

TEST(Profile, TheEnvironmentsDirectoryComesFirst) {
  const auto dir = std::filesystem::path(testing::TempDir()) / "gen5_machines";
  std::filesystem::create_directories(dir);
  json j = b200();
  j["device"]["sms"]["value"] = 2;
  std::ofstream(dir / "b200.json") << j;
  setenv("GEN5_MACHINE_DIR", dir.c_str(), 1);
  EXPECT_EQ(tinygpu::load_profile("b200").sms, 2);
  unsetenv("GEN5_MACHINE_DIR");
  EXPECT_EQ(tinygpu::load_profile((dir / "b200.json").string()).sms, 2);
  std::filesystem::remove_all(dir);
}

TEST(Profile, ReadsNoFolderAndNoDeviceWithoutEnd) {
  for (const char* path : {"/dev/zero", "/tmp/", "/dev/null"}) {
    try {
      tinygpu::read_profile(path);
      ADD_FAILURE() << path << " was read";
    } catch (const tinygpu::ProfileError& e) {
      const char* const what = std::string(path) == "/dev/zero" ? "longer than 16777216 bytes" : "cannot be read";
      EXPECT_THAT(e.what(), HasSubstr(what)) << path;
    }
  }
}

TEST(Profile, SaysWhatIsMissing) {
  json j = b200();
  j["device"].erase("sms");
  EXPECT_EQ(error_of(j), "x.json: device.sms: is missing");
  j = b200();
  j["instructions"].erase("fma");
  EXPECT_THAT(error_of(j), HasSubstr("x.json: instructions.fma: must be an object"));
  j = b200();
  j["numbers"]["tma.latency"].erase("source");
  EXPECT_EQ(error_of(j), "x.json: tma.latency: has no \"source\"");
  j = b200();
  j.erase("numbers");
  EXPECT_EQ(error_of(j), "x.json: numbers: is missing");
}

TEST(Profile, SaysWhatIsWrong) {
  json j = b200();
  j["device"]["sms"]["value"] = "many";
  EXPECT_EQ(error_of(j), "x.json: device.sms: \"value\" must be a number or true or false");
  j = b200();
  j["device"]["smms"] = j["device"]["sms"];
  EXPECT_EQ(error_of(j), "x.json: device.smms: is not a key that the machine knows");
  j = b200();
  j["instructions"]["fma"]["latency"]["value"] = 4.5;
  EXPECT_THAT(error_of(j), HasSubstr("instructions.fma.latency: 4.5 is not a whole number"));
  j = b200();
  j["instructions"]["fma"]["issue"]["value"] = 300;
  EXPECT_THAT(error_of(j), HasSubstr("from 1 to 255"));
  j = b200();
  j["numbers"]["tma.latency"]["trust"] = "high";
  EXPECT_THAT(error_of(j), HasSubstr("trust \"high\" is none of measured, fitted,"));
  j = b200();
  j["numbers"]["tma.latency"]["source"] = "";
  EXPECT_THAT(error_of(j), HasSubstr("\"source\" is empty"));
  const auto with_spread = [](json low, json high, json why) {
    json spread = b200();
    json& number = spread["numbers"]["tma.latency"];
    number["value"] = 470;
    number["low"] = low, number["high"] = high, number["spread"] = why;
    return error_of(spread);
  };
  EXPECT_EQ(with_spread(470, 470, "it is known"), "no error");
  EXPECT_EQ(with_spread(480, 500, "a reason"), "x.json: tma.latency: 470 lies outside its spread, 480 to 500");
  EXPECT_EQ(with_spread(1, 469, "a reason"), "x.json: tma.latency: 470 lies outside its spread, 1 to 469");
  EXPECT_THAT(with_spread(1, "2", "a reason"), HasSubstr("a spread has two numbers, \"low\" and \"high\""));
  EXPECT_THAT(with_spread(1, 500, ""), HasSubstr("\"spread\" is empty: say why"));
  j = b200();
  j["numbers"]["tma.latency"].erase("low");
  EXPECT_THAT(error_of(j), HasSubstr("tma.latency: a spread has two numbers"));
  EXPECT_THAT(error_of(json::array()), HasSubstr("must hold one object"));
  EXPECT_THROW(tinygpu::parse_profile("{", "x.json"), tinygpu::ProfileError);
}

TEST(Profile, AMissingNumberIsAnErrorThatNamesIt) {
  const tinygpu::MachineSpec s = tinygpu::load_profile("b200");
  try {
    s.number("tma.no_such");
    FAIL();
  } catch (const std::out_of_range& e) {
    EXPECT_THAT(e.what(), HasSubstr("tma.no_such"));
  }
}

// Every number of every profile says where it comes from; what was estimated says from what.
TEST(Profile, EveryNumberHasASourceAndTheEngineNumbersAMeaning) {
  for (const std::string& name : tinygpu::profile_names())
    for (const auto& e : tinygpu::read_profile(name).entries) {
      EXPECT_GE(e.source.size(), 5u) << name << ": " << e.key;
      EXPECT_TRUE(e.key.rfind("instructions.", 0) == 0 || !e.what.empty()) << name << ": " << e.key;
    }
}

}  // namespace
