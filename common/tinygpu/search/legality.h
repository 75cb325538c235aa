// Which points of a space are kernels at all: one table of rules. A rule that the machine has carries the code of the
// diagnosis that a kernel which breaks it ends in, and that code's sentence; a rule of the template says what the
// template cannot do; a rule of the problem, what this product does not allow.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/tinygpu/search/space.h"

namespace tinygpu::search {

/// What a rule looks at.
struct Legal {
  const MachineSpec& spec;
  Template kind;
  Problem problem;
};

struct Rule {
  const char* name;  // "shared-memory"
  const char* code;  // of the diagnosis table, or null
  const char* text;  // what is asked, in a sentence
  bool (*breaks)(const Legal&, const Point&);
  /// With the point's numbers.
  std::string (*why)(const Legal&, const Point&);
  /// What a kernel that breaks it ends in: a regular expression for what nvcc or the run prints. Null where nothing
  /// fails, since the point only names a kernel that another one names.
  const char* fails;
};

/// The rules of a template, in the order in which they are asked.
std::vector<const Rule*> rules(Template t);
/// The sentence of the rule's diagnosis, or its own text.
std::string_view sentence(const Rule& rule);
/// The first rule that the point breaks, or null.
const Rule* broken(const std::vector<const Rule*>& rules, const Legal& legal, const Point& p);

/// Why no kernel of the template computes the problem at all, or nothing.
std::optional<std::string> impossible(const Problem& p);
/// The same, where it is the template that cannot.
std::optional<std::string> impossible(const Problem& p, Template t);
/// The same, where the machine's device memory does not have room for it.
std::optional<std::string> too_large(const Problem& p, const MachineSpec& spec);

/// A table of rules (legality.cpp, attention_legality.cpp).
std::span<const Rule> attention_rules(Template t);

/// Bytes of shared memory that the template's kernel asks for.
uint32_t shared_bytes(Template t, const Problem& problem, const Point& p);
/// Columns of Tensor Memory that accumulators take, and the scales of all stages.
uint32_t tensor_columns(const Problem& problem, const Point& p);
/// Chunks of 512 bytes of scales that a CTA has of a block of K.
uint32_t scale_chunks(const Problem& problem, const Point& p);
/// The same of attention's templates.
uint32_t attention_shared_bytes(Template t, const Problem& problem, const Point& p);
uint32_t attention_columns(const Problem& problem, const Point& p);
/// Registers of a thread that has a row of scores, or of Hopper's two.
uint32_t softmax_registers(Template t, const Point& p);
/// Blocks of K, and those of the largest part where it is split.
uint32_t blocks(const Problem& problem, const Point& p);
uint32_t blocks_of_part(const Problem& problem, const Point& p);
/// Clusters that the chip has room for, with one CTA on an SM.
uint32_t clusters_at_once(const MachineSpec& spec, const Point& p);
/// Of a CTA's rows of A or B, of which the matrix has `extent`, those that come with a block.
uint32_t rows_loaded(const Point& p, uint32_t extent, uint32_t rows);
/// Cluster tiles along M and N.
uint32_t tile_rows(const Problem& problem, const Point& p);
uint32_t tile_columns(const Problem& problem, const Point& p);
/// The index-th of them, in the template's order: bands along M, each walked along N.
struct ClusterTile {
  uint32_t row, column;
};
ClusterTile cluster_tile(const Problem& problem, const Point& p, uint32_t index);

}  // namespace tinygpu::search
