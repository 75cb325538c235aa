// SARIF logs: what the published schema (OASIS, sarif-schema-2.1.0.json) requires of the parts that occur, and that
// nothing is lost between writing and reading.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/tinygpu/diagnosis/diagnoses.h"
#include "common/tinygpu/diagnosis/sarif.h"

namespace tinygpu::test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A member of an object of the schema: "string", "integer" (with a least value), "boolean", "bag", a list of words, or
/// another object; a leading * makes it an array, a leading ! says that it is required.
using Members = std::map<std::string, std::string>;

/// The definitions of the schema, as far as gen5 uses them. All but property bags take no other members.
const std::map<std::string, Members> kSchema = {
    {"sarifLog", {{"$schema", "string"}, {"version", "!word 2.1.0"}, {"runs", "!*run"}}},
    {"run",
     {{"tool", "!tool"},
      {"invocations", "*invocation"},
      {"columnKind", "word utf16CodeUnits unicodeCodePoints"},
      {"originalUriBaseIds", "map artifactLocation"},
      {"results", "*result"}}},
    {"tool", {{"driver", "!toolComponent"}}},
    {"toolComponent", {{"name", "!string"}, {"version", "string"}, {"rules", "*reportingDescriptor"}}},
    {"reportingDescriptor",
     {{"id", "!string"},
      {"shortDescription", "multiformatMessageString"},
      {"fullDescription", "multiformatMessageString"},
      {"help", "multiformatMessageString"},
      {"defaultConfiguration", "reportingConfiguration"},
      {"properties", "bag"}}},
    {"multiformatMessageString", {{"text", "!string"}, {"markdown", "string"}}},
    {"reportingConfiguration", {{"level", "word none note warning error"}}},
    {"invocation",
     {{"executionSuccessful", "!boolean"},
      {"commandLine", "string"},
      {"toolExecutionNotifications", "*notification"},
      {"properties", "bag"}}},
    {"notification", {{"message", "!message"}, {"level", "word none note warning error"}}},
    {"message", {{"text", "!string"}}},
    {"result",
     {{"ruleId", "string"},
      {"ruleIndex", "integer -1"},
      {"level", "word none note warning error"},
      {"message", "!message"},
      {"locations", "*location"},
      {"relatedLocations", "*location"},
      {"codeFlows", "*codeFlow"},
      {"fixes", "*fix"},
      {"occurrenceCount", "integer 1"},
      {"properties", "bag"}}},
    {"fix", {{"description", "message"}, {"artifactChanges", "!*artifactChange"}}},
    {"artifactChange", {{"artifactLocation", "!artifactLocation"}, {"replacements", "!*replacement"}}},
    {"replacement", {{"deletedRegion", "!region"}, {"insertedContent", "artifactContent"}}},
    {"artifactContent", {{"text", "string"}}},
    {"codeFlow", {{"threadFlows", "!*threadFlow"}}},
    {"threadFlow", {{"locations", "!*threadFlowLocation"}}},
    {"threadFlowLocation", {{"location", "location"}, {"nestingLevel", "integer 0"}}},
    {"location",
     {{"id", "integer -1"},
      {"physicalLocation", "physicalLocation"},
      {"logicalLocations", "*logicalLocation"},
      {"message", "message"},
      {"properties", "bag"}}},
    {"physicalLocation", {{"artifactLocation", "!artifactLocation"}, {"region", "region"}}},
    {"artifactLocation", {{"uri", "string"}, {"uriBaseId", "string"}}},
    {"region",
     {{"startLine", "integer 1"}, {"startColumn", "integer 1"}, {"endLine", "integer 1"}, {"endColumn", "integer 1"}}},
    {"logicalLocation", {{"name", "string"}, {"fullyQualifiedName", "string"}, {"kind", "string"}}},
};

void expect_valid(const Json& j, std::string type, const std::string& path) {
  std::stringstream words(type);
  std::string kind, word;
  words >> kind;
  if (kind.starts_with('*')) {
    ASSERT_TRUE(j.is_array()) << path;
    std::set<std::string> seen;
    for (size_t i = 0; i < j.size(); ++i) {
      EXPECT_TRUE(seen.insert(j[i].dump()).second || type == "*threadFlowLocation") << path << ": an item stands twice";
      expect_valid(j[i], type.substr(1), path + "/" + std::to_string(i));
    }
  } else if (kind == "string") {
    EXPECT_TRUE(j.is_string()) << path;
  } else if (kind == "boolean") {
    EXPECT_TRUE(j.is_boolean()) << path;
  } else if (kind == "bag") {
    EXPECT_TRUE(j.is_object()) << path;
  } else if (kind == "integer") {
    words >> word;
    ASSERT_TRUE(j.is_number_integer()) << path;
    EXPECT_GE(j.get<int64_t>(), std::stoll(word)) << path;
  } else if (kind == "word") {
    ASSERT_TRUE(j.is_string()) << path;
    bool known = false;
    while (words >> word) known |= j.get<std::string>() == word;
    EXPECT_TRUE(known) << path << ": " << j;
  } else if (kind == "map") {
    words >> word;
    for (const auto& [name, value] : j.items()) expect_valid(value, word, path + "/" + name);
  } else {
    ASSERT_TRUE(j.is_object()) << path;
    const Members& members = kSchema.at(kind);
    for (const auto& [name, of] : members)
      EXPECT_TRUE(!of.starts_with('!') || j.contains(name)) << path << " lacks " << name;
    for (const auto& [name, value] : j.items()) {
      ASSERT_TRUE(members.contains(name)) << path << " has " << name << ", which the schema does not know";
      const std::string& of = members.at(name);
      expect_valid(value, of.substr(of.starts_with('!')), path + "/" + name);
    }
  }
}

Diagnosis copy_not_waited_for() {
  Diagnosis d;
  d.code = "async-not-complete";
  d.kind = FaultKind::launch_failure;
  d.message = "a load while a copy is in flight";
  d.help = "wait for the copy";
  d.where.kernel = "_Z4copyv";
  d.where.cta[0] = d.where.cta[1] = d.where.cta[2] = 1;
  d.where.thread = 37;
  d.where.warp = 1;
  d.where.cycle = 120;
  d.where.ptx_line = 12;
  d.where.ptx_text = "ld.shared.f32 %f1, [%r3]";
  d.where.cuda_file = "/home/some one/a/gemm.cu";
  d.where.cuda_line = 2;
  d.where.cuda_column = 13;
  d.where.inlined = {{"/home/some one/ring.h", 8, 3, "_ZN4ring4loadIiEEvv"}, {"/usr/include/loop.h", 9, 0, ""}};
  d.label = "read here";
  d.others = {{d.where, "the copy was issued here"}};
  d.others[0].where.operation = "cp.async.bulk";
  d.others[0].where.cuda_file = "/usr/include/copy.h";
  d.rule = "A rule.";
  d.section = "9.7 Its section";
  d.example = "a line\nof code";
  d.count = 3;
  return d;
}

diagnosis::Findings two_findings() {
  diagnosis::Findings findings;
  findings.add(copy_not_waited_for(), "timed");
  findings.add(copy_not_waited_for(), "late");
  Diagnosis refused;
  refused.code = "launch-refused";
  refused.message = "no such \"kernel\"";
  findings.add(refused, "late");
  return findings;
}

const diagnosis::SarifRun kRun = {.command = "gemm --size 4",
                                  .folder = "/home/some one",
                                  .complete = true,
                                  .launches = 2,
                                  .orders = {"timed", "late"},
                                  .failures = {"late: exit code 1"}};

TEST(Sarif, FollowsTheSchema) {
  const Json log = diagnosis::sarif_of(two_findings().all(), kRun);
  expect_valid(log, "sarifLog", "");
  expect_valid(diagnosis::sarif_of({}, {}), "sarifLog", "");
  // Every code of the table can be a rule.
  diagnosis::Findings all;
  for (const diagnosis::CodeInfo& c : diagnosis::all_codes()) {
    Diagnosis d;
    d.code = c.code;
    d.message = c.what;
    all.add(d);
  }
  const Json whole = diagnosis::sarif_of(all.all(), {});
  expect_valid(whole, "sarifLog", "");
  EXPECT_EQ(whole["runs"][0]["tool"]["driver"]["rules"].size(), diagnosis::all_codes().size());
}

TEST(Sarif, KernelsHaveShortNamesFullNamesAndTheirLaunchs) {
  Diagnosis d = copy_not_waited_for();
  d.where.kernel = "_ZN3one3twoIiEEvPT_";
  diagnosis::Findings findings;
  findings.add(d, "timed", "step 6");
  const Json log = diagnosis::sarif_of(findings.all(), kRun);
  const Json& result = log["runs"][0]["results"][0];
  EXPECT_EQ(result["locations"][0]["logicalLocations"][0],
            Json({{"name", "two<int>"}, {"fullyQualifiedName", "void one::two<int>(int*)"}, {"kind", "function"}}));
  EXPECT_EQ(result["properties"]["launch"], "step 6");
  const auto read = diagnosis::read_sarif(log).findings;
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].launch, "step 6");
  EXPECT_EQ(read[0].diagnosis.where.kernel, "_ZN3one3twoIiEEvPT_");
}

TEST(Sarif, PlacesAreFilesAndLines) {
  const Json run = diagnosis::sarif_of(two_findings().all(), kRun)["runs"][0];
  ASSERT_EQ(run["results"].size(), 2u);
  const Json& r = run["results"][0];
  EXPECT_EQ(r["level"], "error");
  EXPECT_EQ(run["tool"]["driver"]["rules"][r["ruleIndex"].get<size_t>()]["id"], "async-not-complete");
  const Json& at = r["locations"][0];
  EXPECT_EQ(at["physicalLocation"]["artifactLocation"], Json({{"uri", "a/gemm.cu"}, {"uriBaseId", "SRCROOT"}}));
  EXPECT_EQ(at["physicalLocation"]["region"], Json({{"startLine", 2}, {"startColumn", 13}}));
  EXPECT_EQ(at["logicalLocations"][0]["fullyQualifiedName"], "copy()");
  EXPECT_EQ(at["logicalLocations"][0]["name"], "copy");
  EXPECT_EQ(at["message"]["text"],
            "read here, by CTA (1,1,1), warp 1, thread 37, at cycle 120; ptx line 12: ld.shared.f32 %f1, [%r3]");
  EXPECT_EQ(run["originalUriBaseIds"]["SRCROOT"]["uri"], "file:///home/some%20one/");
  ASSERT_EQ(r["relatedLocations"].size(), 1u);
  EXPECT_EQ(r["relatedLocations"][0]["physicalLocation"]["artifactLocation"],
            Json({{"uri", "file:///usr/include/copy.h"}}));
  EXPECT_THAT(r["message"]["text"].get<std::string>(), HasSubstr("\nFix: wait for the copy"));
  EXPECT_EQ(r["occurrenceCount"], 3u) << "of the first order that has it";
  EXPECT_FALSE(run["results"][1]["locations"][0].contains("physicalLocation"));
}

TEST(Sarif, CodeFlowsLeadThroughPlacesAndInlinedCalls) {
  const Json results = diagnosis::sarif_of(two_findings().all(), kRun)["runs"][0]["results"];
  const Json& steps = results[0]["codeFlows"][0]["threadFlows"][0]["locations"];
  ASSERT_EQ(steps.size(), 6u) << "two places, each inlined through two calls";
  std::string text, levels;
  for (const Json& step : steps) {
    const Json& at = step["location"]["physicalLocation"];
    text += at["artifactLocation"]["uri"].get<std::string>() + ":" + at["region"]["startLine"].dump() + " ";
    levels += step["nestingLevel"].dump();
  }
  EXPECT_EQ(text,
            "a/gemm.cu:2 ring.h:8 file:///usr/include/loop.h:9 file:///usr/include/copy.h:2 ring.h:8 "
            "file:///usr/include/loop.h:9 ");
  EXPECT_EQ(levels, "011011");
  EXPECT_EQ(steps[1]["location"]["message"]["text"], "in ring::load, which is inlined");
  EXPECT_FALSE(results[1].contains("codeFlows")) << "the host did it";
}

TEST(Sarif, AFixThatHoldsIsAReplacement) {
  std::vector<diagnosis::Finding> findings = two_findings().all();
  findings[0].fix = {{"/home/some one/a/gemm.cu", 7, "  fence();\n"}};
  const Json log = diagnosis::sarif_of(findings, kRun);
  expect_valid(log, "sarifLog", "");
  const Json& fix = log["runs"][0]["results"][0]["fixes"][0];
  EXPECT_EQ(fix["description"]["text"], "wait for the copy");
  const Json& change = fix["artifactChanges"][0];
  EXPECT_EQ(change["artifactLocation"], Json({{"uri", "a/gemm.cu"}, {"uriBaseId", "SRCROOT"}}));
  EXPECT_EQ(change["replacements"][0]["deletedRegion"],
            Json({{"startLine", 7}, {"startColumn", 1}, {"endLine", 7}, {"endColumn", 1}}));
  EXPECT_EQ(change["replacements"][0]["insertedContent"]["text"], "  fence();\n");
}

TEST(Sarif, NothingIsLost) {
  const diagnosis::Findings before = two_findings();
  const diagnosis::SarifLog after = diagnosis::read_sarif(Json::parse(diagnosis::sarif_of(before.all(), kRun).dump()));
  EXPECT_TRUE(after.complete);
  EXPECT_EQ(after.launches, 2u);
  ASSERT_EQ(after.findings.size(), 2u);
  EXPECT_THAT(after.findings[0].orders, ElementsAre("timed", "late"));
  // What is written of it again is the same, word for word.
  EXPECT_EQ(diagnosis::sarif_of(after.findings, kRun).dump(), diagnosis::sarif_of(before.all(), kRun).dump());
  const Diagnosis d = after.findings[0].diagnosis, e = copy_not_waited_for();
  EXPECT_EQ(std::tie(d.code, d.message, d.help, d.label, d.rule, d.section, d.example, d.count, d.kind, d.severity),
            std::tie(e.code, e.message, e.help, e.label, e.rule, e.section, e.example, e.count, e.kind, e.severity));
  EXPECT_EQ(d.where.cuda_file, e.where.cuda_file);
  EXPECT_EQ(d.others.at(0).where.operation, "cp.async.bulk");
}

TEST(Sarif, OtherFilesAreRefused) {
  EXPECT_THROW(diagnosis::read_sarif({}), std::runtime_error);
  EXPECT_THROW(diagnosis::read_sarif(Json::parse(R"({"runs": [{"results": [{}], "invocations": []}]})")),
               std::runtime_error);
}

TEST(Findings, EqualOnesAreMerged) {
  diagnosis::Findings findings;
  Diagnosis d = copy_not_waited_for();
  EXPECT_TRUE(findings.add(d, "timed"));
  d.where.cycle = 99;
  d.where.cta[0] = 7;
  EXPECT_FALSE(findings.add(d, "timed"));
  EXPECT_EQ(findings.all()[0].diagnosis.count, 6u);
  d.others[0].where.ptx_line = 13;
  EXPECT_FALSE(findings.add(d, "timed")) << "a copy that unrolling has made";
  d.others[0].where.cuda_line += 1;
  EXPECT_TRUE(findings.add(d, "late")) << "another line";
  d.where.kernel = "k";
  EXPECT_TRUE(findings.add(d, "late")) << "another kernel";
  d.severity = Severity::warning;
  EXPECT_TRUE(findings.add(d, "late")) << "no error any more";
  EXPECT_EQ(findings.count(Severity::error), 3u);
  EXPECT_EQ(findings.count(Severity::warning), 1u);
}

TEST(Findings, ADeadlockIsWhereItsFirstWaiterIs) {
  diagnosis::Findings findings;
  Diagnosis d = copy_not_waited_for();
  d.code = "deadlock";
  d.kind = FaultKind::deadlock;
  EXPECT_TRUE(findings.add(d, "timed"));
  d.others.clear();
  EXPECT_FALSE(findings.add(d, "late"));
  EXPECT_THAT(findings.all()[0].orders, ElementsAre("timed", "late"));
}

}  // namespace
}  // namespace tinygpu::test
