#include "common/tinygpu/diagnosis/sarif.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/base/version.h"
#include "common/tinygpu/diagnosis/diagnoses.h"
#include "common/tinygpu/diagnosis/place_json.h"
#include "common/tinygpu/diagnosis/render.h"

namespace tinygpu::diagnosis {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFolder = "SRCROOT";

/// A path in a URI (RFC 3986, 3.3).
std::string uri_of(std::string_view path) {
  constexpr std::string_view kPlain = "-._~/!$&'()*+,;=@";
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Json artifact_of(const std::string& file, const std::string& folder) {
  const std::string path = path_from(folder, file);
  Json artifact = {{"uri", uri_of(path)}};
  if (path != file)
    artifact["uriBaseId"] = kFolder;
  else if (path.starts_with('/'))
    artifact["uri"] = "file://" + uri_of(path);
  return artifact;
}

Json location_of(const Where& w, const std::string& label, const std::string& folder) {
  Json l = Json::object();
  if (!w.cuda_file.empty()) {
    l["physicalLocation"] = {{"artifactLocation", artifact_of(w.cuda_file, folder)}};
    if (w.cuda_line > 0) {
      Json& region = l["physicalLocation"]["region"] = {{"startLine", w.cuda_line}};
      if (w.cuda_column > 0) region["startColumn"] = w.cuda_column;
    }
  }
  if (!w.kernel.empty())
    l["logicalLocations"] = {
        {{"name", kernel_label(w.kernel)}, {"fullyQualifiedName", full_name(w.kernel)}, {"kind", "function"}}};
  std::string text = label;
  if (const std::string who = who_of(w); !who.empty()) text += (text.empty() ? "by " : ", by ") + who;
  if (w.ptx_line > 0) text += fmt::format("{}ptx line {}: {}", text.empty() ? "" : "; ", w.ptx_line, w.ptx_text);
  if (!text.empty()) l["message"] = {{"text", text}};
  Json properties = place_json(w);
  if (!label.empty()) properties["label"] = label;
  if (!properties.empty()) l["properties"] = std::move(properties);
  return l;
}

/// Every place in the order in which it is told, each followed by the calls that it was inlined through, innermost
/// first.
Json flow_of(const Diagnosis& d, const std::string& folder) {
  Json steps = Json::array();
  const auto add = [&](const Where& w, const std::string& label) {
    steps.push_back({{"location", location_of(w, label, folder)}, {"nestingLevel", 0}});
    for (const InlinedPlace& i : w.inlined) {
      Where inner;
      inner.cuda_file = i.file;
      inner.cuda_line = i.line;
      inner.cuda_column = i.column;
      const std::string name = short_name(i.function);
      const std::string text = name.empty() ? "inlined code" : "in " + name + ", which is inlined";
      steps.push_back({{"location", location_of(inner, text, folder)}, {"nestingLevel", 1}});
    }
  };
  add(d.where, d.label);
  for (const LabelledPlace& p : d.others) add(p.where, p.label);
  return steps;
}

/// A code's row in the table.
Json rule_json(const std::string& code) {
  Json r = {{"id", code}};
  const CodeInfo* c = find_code(code);
  if (!c) return r;
  Diagnosis general;
  general.code = code;
  r["shortDescription"] = {{"text", c->what}};
  r["fullDescription"] = {{"text", rule_of(general)}};
  std::string text = rule_of(general), markdown = "**Rule.** " + text;
  const auto part = [&](const char* name, const std::string& words) {
    if (words.empty()) return;
    text += fmt::format("\n{}: {}", name, words);
    markdown += fmt::format("\n\n**{}.** {}", name, words);
  };
  part("Hardware", hardware_words(*c));
  part("Fix", std::string(c->fix.text));
  if (!c->fix.example.empty()) {
    text += fmt::format("\n{}", c->fix.example);
    markdown += fmt::format("\n\n```\n{}\n```", c->fix.example);
  }
  r["help"] = {{"text", text}, {"markdown", markdown}};
  const bool error = c->severities.has(Severity::error), warning = c->severities.has(Severity::warning);
  r["defaultConfiguration"] = {{"level", error ? "error" : warning ? "warning" : "note"}};
  if (!c->rule.section.empty()) r["properties"] = {{"section", fmt::format("PTX ISA 9.1, {}", c->rule.section)}};
  return r;
}

Json result_of(const Finding& f, size_t rule, const std::string& folder) {
  const Diagnosis& d = f.diagnosis;
  Json r = {{"ruleId", d.code}, {"ruleIndex", rule}, {"level", name_of(d.severity)}};
  r["message"] = {{"text", d.message + (d.help.empty() ? "" : "\nFix: " + d.help)}};
  r["locations"] = Json::array({location_of(d.where, d.label, folder)});
  for (size_t i = 0; i < d.others.size(); ++i) {
    Json l = location_of(d.others[i].where, d.others[i].label, folder);
    l["id"] = i + 1;
    r["relatedLocations"].push_back(std::move(l));
  }
  if (Json steps = flow_of(d, folder); steps.size() > 1)
    r["codeFlows"] = {{{"threadFlows", {{{"locations", std::move(steps)}}}}}};
  if (!f.fix.empty()) {
    Json changes = Json::array();
    for (const SourceEdit& e : f.fix)
      changes.push_back(
          {{"artifactLocation", artifact_of(e.file, folder)},
           {"replacements",
            {{{"deletedRegion", {{"startLine", e.line}, {"startColumn", 1}, {"endLine", e.line}, {"endColumn", 1}}},
              {"insertedContent", {{"text", e.text}}}}}}});
    r["fixes"] = {{{"description", {{"text", d.help}}}, {"artifactChanges", std::move(changes)}}};
  }
  r["occurrenceCount"] = d.count;
  Json& p = r["properties"] = {{"message", d.message}, {"kind", unsigned(d.kind)}};
  for (const auto& [name, text] :
       {std::pair{"help", &d.help}, {"rule", &d.rule}, {"section", &d.section}, {"example", &d.example}})
    if (!text->empty()) p[name] = *text;
  if (!f.orders.empty()) p["orders"] = f.orders;
  if (!f.launch.empty()) p["launch"] = f.launch;
  return r;
}

LabelledPlace place_of(const Json& location) {
  const Json p = location.value("properties", Json::object());
  return {place_of_json(p), p.value("label", "")};
}

Finding finding_of(const Json& r) {
  Finding f;
  Diagnosis& d = f.diagnosis;
  d.code = r.at("ruleId").get<std::string>();
  const std::string level = r.at("level").get<std::string>();
  for (const Severity s : {Severity::note, Severity::warning, Severity::error})
    if (level == name_of(s)) d.severity = s;
  LabelledPlace first = place_of(r.at("locations").at(0));
  d.where = std::move(first.where);
  d.label = std::move(first.label);
  for (const Json& l : r.value("relatedLocations", Json::array())) d.others.push_back(place_of(l));
  d.count = r.value("occurrenceCount", uint64_t{1});
  const Json& p = r.at("properties");
  d.message = p.at("message").get<std::string>();
  d.kind = FaultKind(p.at("kind").get<unsigned>());
  d.help = p.value("help", "");
  d.rule = p.value("rule", "");
  d.section = p.value("section", "");
  d.example = p.value("example", "");
  f.orders = p.value("orders", std::vector<std::string>{});
  f.launch = p.value("launch", "");
  return f;
}

}  // namespace

Json sarif_of(std::span<const Finding> findings, const SarifRun& run) {
  Json rules = Json::array(), results = Json::array();
  std::vector<std::string> codes;
  for (const Finding& f : findings) {
    auto at = std::ranges::find(codes, f.diagnosis.code);
    if (at == codes.end()) {
      rules.push_back(rule_json(f.diagnosis.code));
      at = codes.insert(codes.end(), f.diagnosis.code);
    }
    results.push_back(result_of(f, size_t(at - codes.begin()), run.folder));
  }
  Json invocation = {{"executionSuccessful", run.complete}};
  if (!run.command.empty()) invocation["commandLine"] = run.command;
  invocation["properties"] = {{"launches", run.launches}};
  if (!run.orders.empty()) invocation["properties"]["orders"] = run.orders;
  for (const std::string& failure : run.failures)
    invocation["toolExecutionNotifications"].push_back({{"level", "error"}, {"message", {{"text", failure}}}});
  Json one = {{"tool", {{"driver", {{"name", "gen5"}, {"version", kVersion}, {"rules", std::move(rules)}}}}},
              {"invocations", Json::array({std::move(invocation)})},
              {"columnKind", "unicodeCodePoints"}};
  if (!run.folder.empty())
    one["originalUriBaseIds"] = {
        {kFolder, {{"uri", "file://" + uri_of(run.folder) + (run.folder.ends_with('/') ? "" : "/")}}}};
  one["results"] = std::move(results);
  return {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({std::move(one)})}};
}

SarifLog read_sarif(const Json& log) {
  try {
    SarifLog out;
    const Json& run = log.at("runs").at(0);
    for (const Json& r : run.at("results")) out.findings.push_back(finding_of(r));
    const Json& invocation = run.at("invocations").at(0);
    out.complete = invocation.at("executionSuccessful").get<bool>();
    out.launches = invocation.at("properties").at("launches").get<uint64_t>();
    return out;
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(std::string("this is no log of gen5's: ") + e.what());
  }
}

}  // namespace tinygpu::diagnosis
