#include "common/tinygpu/search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace tinygpu::search {
namespace {

using Value = Parameter::Value;

std::vector<Value> numbers(std::initializer_list<uint16_t> values) {
  std::vector<Value> out;
  for (uint16_t v : values) out.push_back({std::to_string(v), v});
  return out;
}

std::vector<Value> tiles(std::initializer_list<uint16_t> ms) {
  std::vector<Value> out;
  for (uint16_t m : ms)
    for (uint16_t n = 32; n <= 256; n += 32) out.push_back({fmt::format("{}x{}", m, n), m, n});
  return out;
}

constexpr uint16_t id(Epilogue e) { return uint16_t(e); }
constexpr uint16_t id(Schedule s) { return uint16_t(s); }

/// Queries that a CTA has at a time, of them `each` to a warpgroup of softmax, and keys of a block.
std::vector<Value> attention_tiles(uint16_t each, uint16_t most, std::initializer_list<uint16_t> keys) {
  std::vector<Value> out;
  for (uint16_t m = each; m <= most; m = uint16_t(m + each))
    for (uint16_t n : keys) out.push_back({fmt::format("{}x{}", m, n), m, n});
  return out;
}

const Parameter kStages{"stages", "blocks that are loaded ahead", &Point::stages, nullptr,
                        numbers({1, 2, 3, 4, 5, 6, 8, 10, 12})};

std::vector<Parameter> attention_parameters(bool blackwell) {
  std::vector<Parameter> out;
  out.push_back({"tile",
                 blackwell ? "queries of a CTA, a softmax warpgroup for each 128, and keys of a block"
                           : "queries of a CTA, a warpgroup for each 64, and keys of a block",
                 &Point::m, &Point::n,
                 blackwell ? attention_tiles(128, 512, {32, 64, 128, 256})
                           : attention_tiles(64, 192, {64, 96, 128, 160, 192, 256})});
  out.push_back(kStages);
  if (blackwell)
    out.push_back({"parts", "in which exponentials are handed over to the second product", &Point::parts, nullptr,
                   numbers({1, 2, 4})});
  else
    out.push_back({"order",
                   "the next block's scores are asked for before this block's values, or behind them",
                   &Point::ahead,
                   nullptr,
                   {{"ahead", 1}, {"in_turn", 0}}});
  out.push_back({"rescale",
                 "O is rescaled where an exponential would exceed 2^8, or whenever a larger score comes",
                 &Point::lazy,
                 nullptr,
                 {{"lazy", 1}, {"always", 0}}});
  out.push_back({"staging",
                 "where O lies on its way out: in boxes of its own, or where the queries were",
                 &Point::over_queries,
                 nullptr,
                 {{"own", 0}, {"queries", 1}}});
  out.push_back({"schedule",
                 "a CTA for each piece of work; CTAs that stay",
                 &Point::schedule,
                 nullptr,
                 {{"serial", id(Schedule::serial)}, {"persistent", id(Schedule::persistent)}}});
  out.push_back({"section", "heads whose pieces are walked together, those with most keys first", &Point::section,
                 nullptr, numbers({1, 4, 16, 64})});
  return out;
}

std::vector<Parameter> gemm_parameters(bool blackwell) {
  std::vector<Parameter> out;
  out.push_back({"tile", "rows and columns of D that a CTA or a pair computes", &Point::m, &Point::n,
                 blackwell ? tiles({64, 128, 256, 512}) : tiles({64, 128, 192, 256})});
  out.push_back({"block", "bytes of K that a stage has of each row", &Point::block, nullptr, numbers({64, 128, 256})});
  out.push_back({"swizzle", "bytes of the swizzle, a box of TMA", &Point::span, nullptr, numbers({32, 64, 128})});
  out.push_back(kStages);
  if (blackwell)
    out.push_back({"cta", "CTAs that multiply together: 2 is a pair", &Point::pair, nullptr, numbers({1, 2})});
  out.push_back({"cluster",
                 "tiles along M and N whose CTAs share what they load by multicast",
                 &Point::cluster_m,
                 &Point::cluster_n,
                 {{"1x1", 1, 1}, {"2x1", 2, 1}, {"1x2", 1, 2}, {"2x2", 2, 2}, {"4x4", 4, 4}}});
  if (blackwell)
    out.push_back({"accumulators", "tiles that Tensor Memory holds", &Point::accumulators, nullptr, numbers({1, 2})});
  if (blackwell)
    out.push_back(
        {"epilogue",
         "how D is stored: by TMA in boxes of so many bytes a row, or by the threads",
         &Point::epilogue,
         &Point::store,
         {{"tma128", id(Epilogue::tma), 128}, {"tma64", id(Epilogue::tma), 64}, {"direct", id(Epilogue::direct), 64}}});
  else
    out.push_back(
        {"epilogue",
         "how D is stored: by TMA through two boxes or through room for all columns, or by the threads, as they "
         "have it or 16 bytes each",
         &Point::epilogue,
         &Point::store,
         {{"tma", id(Epilogue::tma), 128},
          {"tma_whole", id(Epilogue::tma_whole), 128},
          {"direct", id(Epilogue::direct), 128},
          {"wide", id(Epilogue::wide), 128}}});
  Parameter schedule{"schedule",
                     "a cluster for each tile; clusters that stay; that take what was not launched; that share all "
                     "blocks of K equally",
                     &Point::schedule,
                     nullptr,
                     {{"serial", id(Schedule::serial)},
                      {"persistent", id(Schedule::persistent)},
                      {"stream_k", id(Schedule::stream_k)}}};
  if (blackwell) schedule.values.push_back({"launch_control", id(Schedule::launch_control)});
  out.push_back(schedule);
  out.push_back({"band", "cluster tiles along M that are walked before the next column", &Point::band, nullptr,
                 numbers({1, 4, 8, 16})});
  if (blackwell)
    out.push_back({"split", "parts of K, added up in D", &Point::split, nullptr, numbers({1, 2, 4})});
  else
    out.push_back({"split",
                   "parts of K: added up in D, or by the CTAs that have them, which meet in L2",
                   &Point::split,
                   &Point::meets,
                   {{"1", 1, 0}, {"2", 2, 0}, {"4", 4, 0}, {"2meet", 2, 1}, {"4meet", 4, 1}}});
  if (!blackwell)
    out.push_back({"consumers",
                   "warpgroups that multiply: together on a tile, or two that take tiles in turn",
                   &Point::consumers,
                   &Point::ping_pong,
                   {{"1", 1, 0}, {"2", 2, 0}, {"3", 3, 0}, {"2pingpong", 2, 1}}});
  if (!blackwell)
    out.push_back({"outside",
                   "rows of a tile that A or B does not have: TMA brings zeros, or they are not asked for",
                   &Point::skips,
                   nullptr,
                   {{"zeros", 0}, {"skipped", 1}}});
  return out;
}

}  // namespace

std::string_view name(In type) {
  constexpr std::string_view kNames[] = {"bf16", "f16", "fp8", "mxf8", "mxf4", "nvf4"};
  return kNames[size_t(type)];
}
std::string_view name(Out type) { return type == Out::f32 ? "f32" : type == Out::bf16 ? "bf16" : "f16"; }
std::string name(const Problem& p) {
  if (p.operation == Operation::attention)
    return fmt::format("{} head{}, {} queries, {} keys, {} dimensions{}", p.heads, p.heads == 1 ? "" : "s", p.m, p.n,
                       p.k, p.causal ? ", causal" : "");
  return fmt::format("{}x{}x{} {} -> {}", p.m, p.n, p.k, name(p.in), name(p.out));
}

std::string size_text(const Problem& p) {
  return p.operation == Operation::attention ? fmt::format("{}x{}x{}", p.heads, p.m, p.n)
                                             : fmt::format("{}x{}x{}", p.m, p.n, p.k);
}

Problem any_size(const Problem& p) {
  Problem any = p;
  any.m = any.n = 256;
  if (p.operation == Operation::attention)
    any.heads = 2;
  else
    any.k = 256;
  return any;
}

Template template_of(const MachineSpec& spec, Operation operation) {
  const bool attention = operation == Operation::attention;
  if (spec.has_tmem) return attention ? Template::attention_blackwell : Template::blackwell;
  if (spec.has_wgmma) return attention ? Template::attention_hopper : Template::hopper;
  throw SearchError("machine " + spec.name +
                    " has neither tcgen05 nor wgmma, and the templates need one of them; "
                    "take b200 or h200");
}

void Parameter::set(Point& p, const Value& v) const {
  p.*first = v.first;
  if (second) p.*second = v.second;
}

std::string Parameter::text(const Point& p) const {
  for (const Value& v : values)
    if (p.*first == v.first && (!second || p.*second == v.second)) return v.text;
  return second ? fmt::format("{}x{}", p.*first, p.*second) : std::to_string(p.*first);
}

Space::Space(Template t)
    : kind_(t),
      parameters_(is_attention(t) ? attention_parameters(is_blackwell(t)) : gemm_parameters(is_blackwell(t))) {}

uint64_t Space::size() const {
  uint64_t size = 1;
  for (const Parameter& p : parameters_) size *= p.values.size();
  return size;
}

Point Space::operator[](uint64_t index) const {
  Point p = plain_point(kind_);
  for (const Parameter& parameter : parameters_) {
    parameter.set(p, parameter.values[index % parameter.values.size()]);
    index /= parameter.values.size();
  }
  return p;
}

void Space::for_each(const std::function<void(uint64_t, const Point&)>& f) const {
  Point p = (*this)[0];
  std::vector<size_t> at(parameters_.size(), 0);
  for (uint64_t index = 0;; ++index) {
    f(index, p);
    size_t i = 0;
    for (; i < parameters_.size(); ++i) {
      at[i] = (at[i] + 1) % parameters_[i].values.size();
      parameters_[i].set(p, parameters_[i].values[at[i]]);
      if (at[i] != 0) break;
    }
    if (i == parameters_.size()) return;
  }
}

std::string Space::text(const Point& p) const {
  std::string out;
  for (const Parameter& parameter : parameters_)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", parameter.name, parameter.text(p));
  return out;
}

Point Space::parse(std::string_view words, Point rest) const {
  std::istringstream in{std::string(words)};
  for (std::string word; in >> word;) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals), text = equals == std::string::npos ? "" : word.substr(equals + 1);
    const auto parameter =
        std::find_if(parameters_.begin(), parameters_.end(), [&](const Parameter& p) { return p.name == key; });
    if (parameter == parameters_.end()) {
      std::string known;
      for (const Parameter& p : parameters_) known += fmt::format("{}{}", known.empty() ? "" : ", ", p.name);
      throw SearchError(fmt::format(
          "\"{}\" is no parameter of this machine's template; write NAME=VALUE with one of {}", key, known));
    }
    const auto value = std::find_if(parameter->values.begin(), parameter->values.end(),
                                    [&](const Value& v) { return v.text == text; });
    if (value == parameter->values.end()) {
      std::string known;
      for (const Value& v : parameter->values) known += fmt::format("{}{}", known.empty() ? "" : ", ", v.text);
      throw SearchError(fmt::format("\"{}\" is no value of {} that the template has; it has {}", text, key, known));
    }
    parameter->set(rest, *value);
  }
  return rest;
}

Point plain_point(Template t) {
  Point p;
  if (t == Template::blackwell) p.accumulators = 2;
  if (is_attention(t)) p.stages = 2;
  return p;
}

}  // namespace tinygpu::search
