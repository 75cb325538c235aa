// What is computed, as a graph: operations, and the tensors between them.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

#include "chapters/16_megakernel/target.h"

namespace megakernel {

/// A graph, or a size, that cannot be compiled; what() is a sentence.
struct PlanError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Operation {
  std::string name;
  Op op = Op::none;
  uint32_t layer = 0, half = 0;    // as in Task
  std::vector<std::string> reads;  // the first is waited for; the others are older (compile() checks it)
  std::string writes;
  uint32_t rows = 0, depth = 0;  // of the weights of a projection; depth: of K
  uint32_t part = 0;             // columns of what it writes that share a counter; 0: all
};

struct Graph {
  std::vector<std::string> given;  // tensors that are there
  std::vector<Operation> operations;
};

/// The layers of a model, one behind the other. Throws PlanError for sizes that the kernels do not take.
/// `norms_apart`: as in Tiling.
Graph decoder(const Sizes& sizes, bool norms_apart);

/// The operations' numbers in an order in which each comes behind those that make what it reads. Throws PlanError for a
/// tensor that no operation makes, or that two make, and for operations that wait for each other.
std::vector<uint32_t> order_of(const Graph& graph);

}  // namespace megakernel
