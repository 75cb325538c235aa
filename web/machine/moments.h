// What a timeline's page needs to show the machine at any cycle: each mbarrier's state whenever it changes, Tensor
// Memory's columns, and operations from their issue to their effect.
#pragma once
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/tinygpu/machine/observe.h"
#include "common/tinygpu/observe/wording.h"

namespace tinygpu::web {

/// Of one launch, on the first SMs. Machines of pages have one host thread.
class Moments final : public Observer {
 public:
  Moments() : Observer(operations | synchronisation | tensor_allocations) {}
  void on_launch(const Launch& l) override;
  void on_end(const Launch&, const LaunchStats*) override;
  void on_cta(const Cta& cta, bool starts, uint64_t time) override;
  void on_issue(const AsyncOperation& o) override;
  void on_sync(const Sync& s) override;
  void on_tensor_allocation(const TmemAllocation& a) override;

  /// Times are cycles since the launch began; lists are sorted by time.
  /// {"mbarriers": [{"sm", "cta", "offset", "name"}],
  ///  "states": [[time, mbarrier, phase, arrivals missing, arrivals of a phase, bytes missing]],
  ///  "operations": [{"kind", "sm", "issued", "begin", "end", "bytes", "line": of the PTX, "shared": [[offset, bytes,
  ///    writes, the mbarrier that it signals or −1]], "cells": [[lane, lanes, column, columns, writes]]}]; "end" is
  ///    null of one whose effect the run has not seen,
  ///  "columns": [[time, sm, first, count, taken]], "whole_until": a cycle, where the rest is left out}
  nlohmann::ordered_json json() const;

 private:
  struct State {
    uint64_t time;
    uint32_t mbarrier;
    uint64_t phase;
    uint32_t pending, expected;
    int64_t bytes;
  };
  struct Columns {
    uint64_t time;
    uint32_t sm;
    TmemRect cells;
    bool taken;
  };
  struct Named {
    uint32_t sm;
    Dim3 cta;
    uint32_t offset;
    std::string name;
  };
  struct Operation {
    std::shared_ptr<const AsyncOperation> operation;
    int line;
    std::vector<nlohmann::ordered_json> shared;
  };
  bool kept(uint32_t sm, uint64_t time, size_t entries);
  int64_t number_of(const Cta& cta, uint32_t offset);
  void name(const Cta& cta, uint32_t offset, int64_t number);

  uint64_t start_ = 0, whole_until_ = ~0ull;
  observe::MbarrierNames names_;
  std::map<std::pair<const Cta*, uint32_t>, int64_t> numbers_;
  std::vector<Named> mbarriers_;
  std::vector<State> states_;
  std::vector<Columns> columns_;
  std::vector<Operation> operations_;
};

}  // namespace tinygpu::web
