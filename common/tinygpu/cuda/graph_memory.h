// Memory that graphs allocate. A node that allocates has addresses of its own, which no other allocation gets while the
// graph, an executable graph made of it, or what it has allocated lives. There is memory behind them from the moment at
// which such a node runs until a node, or a call outside of graphs, frees it.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/tinygpu/api/memory.h"

namespace tinygpu::cuda {

struct GraphExec;
class GraphMemory;

/// The addresses of nodes that allocate one after the other.
struct GraphAddresses {
  GraphAddresses(GraphMemory& owner, const api::Memory::Reserved& range, uint64_t size)
      : of(owner), at(range), bytes(size) {}
  ~GraphAddresses();
  GraphAddresses(const GraphAddresses&) = delete;
  GraphAddresses& operator=(const GraphAddresses&) = delete;
  GraphMemory& of;
  const api::Memory::Reserved at;
  const uint64_t bytes;
};

class GraphMemory {
 public:
  explicit GraphMemory(api::Memory& memory) : memory_(memory) {}

  /// Null, and a diagnosis, if there are not so many.
  std::shared_ptr<GraphAddresses> reserve(uint64_t bytes);
  /// A node that allocates has these addresses.
  bool known(uint64_t address) const { return known_.count(address) != 0; }

  // ---- In the order of the program's calls
  /// What earlier launches have allocated and nothing has freed.
  bool holds(uint64_t address) const { return held_.count(address) != 0; }
  /// INVALID_VALUE, and nothing changes, if the graph allocates what is still allocated, or frees what is not. What it
  /// frees first, because it was instantiated so, is in `left_over`.
  CUresult launch(const GraphExec& e, std::vector<uint64_t>& left_over);
  /// A free outside of graphs, of what holds(): everything that was submitted before has run.
  CUresult free_now(uint64_t address);

  // ---- When nodes run
  CUresult allocate(const std::shared_ptr<GraphAddresses>& addresses);
  CUresult free(uint64_t address);

  // ---- cuDeviceGetGraphMemAttribute …
  CUresult get(CUgraphMem_attribute attribute, uint64_t* value) const;
  CUresult set(CUgraphMem_attribute attribute, const uint64_t* value);
  /// Gives back what no allocation uses.
  void trim() { kept_ = used_; }
  /// The context ends, and all that was allocated.
  void reset();

 private:
  friend struct GraphAddresses;
  api::Memory& memory_;
  std::set<uint64_t> known_, held_;
  std::map<uint64_t, std::shared_ptr<GraphAddresses>> live_;  // what has memory now
  // Bytes: in use; and kept for graphs, what is in use included. What is freed stays with the graphs until trim().
  uint64_t used_ = 0, kept_ = 0, most_kept_ = 0;
};

}  // namespace tinygpu::cuda
