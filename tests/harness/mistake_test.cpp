#include "common/harness/mistake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using namespace gen5::harness;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const kSaid =
    "tinygpu warning[tmem-not-complete]: a load reads error[deadlock] cells\n  --> a.cu:3\n"
    "error[deadlock]: for ever\n   help: none\n"
    "tinygpu warning[tmem-not-complete]: again\n";

Mistake mistake(const char* says, const char* silent = "") {
  return {"m", "t", "", says, silent, "", "", "", "", "", false, nullptr, nullptr};
}

Outcome outcome(std::vector<std::string> codes, bool right, std::string stopped = {}) {
  return {"late", std::move(codes), "", std::move(stopped), right, right ? "" : "d[0] is 1 and should be 2"};
}

TEST(Mistake, CodesStandAtTheBeginningOfLines) {
  EXPECT_THAT(codes_in(kSaid), ElementsAre("tmem-not-complete", "deadlock"));
  EXPECT_THAT(codes_in("D is wrong\n"), IsEmpty());
  EXPECT_THAT(codes_in("tinygpu note[polling]: no end in sight\nwarning[trap]: a\n"), ElementsAre("polling", "trap"));
  EXPECT_THAT(codes_in("tinygpu note[polling]: no end in sight\nwarning[trap]: a\n", false), ElementsAre("trap"));
}

TEST(Mistake, ADiagnosisEndsWhereTheNextBegins) {
  EXPECT_EQ(diagnosis_of(kSaid, "deadlock"), "error[deadlock]: for ever\n   help: none\n");
  EXPECT_EQ(diagnosis_of(kSaid, "tmem-leak"), "");
}

TEST(Mistake, Lists) {
  EXPECT_THAT(listed(""), IsEmpty());
  EXPECT_THAT(listed("a, b-c"), ElementsAre("a", "b-c"));
}

TEST(Mistake, EveryOrderSaysWhatIsPromised) {
  EXPECT_EQ(broken_promise(mistake("a"), {outcome({"a"}, true), outcome({"a"}, false, "stopped")}), "");
  EXPECT_EQ(broken_promise(mistake("a"), {outcome({"b", "a"}, true), outcome({"a"}, true)}), "");
  EXPECT_THAT(broken_promise(mistake("a"), {outcome({"a"}, true), outcome({}, false)}),
              HasSubstr("late: a was promised"));
  EXPECT_THAT(broken_promise(mistake("a, b"), {outcome({"a"}, true)}), HasSubstr("b was promised"));
}

TEST(Mistake, OneOfTwoCodesMayBeWhatAnOrderSays) {
  EXPECT_THAT(codes_promised("a|b, c"), ElementsAre("a", "b", "c"));
  EXPECT_EQ(broken_promise(mistake("a|b"), {outcome({"a"}, true), outcome({"b"}, true)}), "");
  EXPECT_THAT(broken_promise(mistake("a|b"), {outcome({"a"}, true), outcome({"c"}, true)}),
              HasSubstr("late: a|b was promised"));
}

TEST(Mistake, SilenceIsPromisedToo) {
  EXPECT_EQ(broken_promise(mistake("a", "late"), {outcome({}, true)}), "");
  EXPECT_THAT(broken_promise(mistake("a", "late"), {outcome({"a"}, true)}), HasSubstr("silence was promised"));
  EXPECT_THAT(broken_promise(mistake("a", "timed"), {outcome({}, true)}), HasSubstr("late: a was promised"));
}

TEST(Mistake, WrongNumbersAreWrongInEveryOrderAndNothingIsSaid) {
  EXPECT_EQ(broken_promise(mistake(kWrongNumbers), {outcome({}, false)}), "");
  EXPECT_THAT(broken_promise(mistake(kWrongNumbers), {outcome({}, false), outcome({}, true)}), HasSubstr("right"));
  EXPECT_THAT(broken_promise(mistake(kWrongNumbers), {outcome({"a"}, false)}), HasSubstr("a was said"));
  Outcome mute = outcome({}, false);
  mute.difference.clear();
  EXPECT_EQ(broken_promise(mistake(kWrongNumbers), {outcome({}, false), mute}), "late: no wrong number is shown");
  EXPECT_THAT(broken_promise(mistake(kWrongNumbers), {outcome({}, false, "exit code 9")}),
              HasSubstr("without a diagnosis"));
}

TEST(Mistake, WhatIsNotDiagnosedYetIsToldWhenItIs) {
  EXPECT_EQ(broken_promise(mistake(kNotYet), {outcome({}, true), outcome({}, false)}), "");
  EXPECT_THAT(broken_promise(mistake(kNotYet), {outcome({"data-race"}, true)}), HasSubstr("data-race was said"));
}

TEST(Mistake, ARightKernelIsRightAndQuiet) {
  EXPECT_EQ(not_fixed({outcome({}, true)}), "");
  EXPECT_THAT(not_fixed({outcome({}, false)}), HasSubstr("wrong"));
  EXPECT_THAT(not_fixed({outcome({"a"}, true)}), HasSubstr("a was said"));
  EXPECT_THAT(not_fixed({outcome({}, false, "a fault")}), HasSubstr("a fault"));
}

}  // namespace
