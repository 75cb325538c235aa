// Where a kernel's time went: what its warps issued and waited for, by role and by source line, and how busy the units
// were.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/tinygpu/observe/idle.h"
#include "common/tinygpu/observe/wording.h"
#include "common/tinygpu/timing/power.h"

namespace tinygpu::observe {

/// What instructions and the operations that they issue took of the ways to memory.
struct MemoryCost {
  uint64_t shared_bytes = 0;       // that shared memory gave and took
  uint64_t l2_bytes = 0;           // that L2 gave or took
  uint64_t device_bytes = 0;       // of lines that were not in L2 when they were read
  uint64_t passes = 0, ideal = 0;  // of the banks of shared memory by warps; without conflicts
  uint64_t conflicts() const { return passes - ideal; }
  void add(const MemoryCost& other);
};

/// Cycles in which instructions were issued, or kept warps waiting.
struct IssueCost {
  uint64_t issued = 0;    // from the issue until the next instruction may follow
  uint64_t operands = 0;  // waited for results of loads and other late operands
  uint64_t port = 0;      // waited for the sub-partition's issue port
  void add(const IssueCost& other);
};

/// Cycles of one instruction or line, summed over the warps that executed it.
struct LineCost : IssueCost {
  uint64_t executions = 0;                // warp instructions
  std::map<std::string, uint64_t> waits;  // blocked, by what for
  std::string file;                       // CUDA source; empty where the program was built without -lineinfo
  int line = 0;                           // in it, or in the PTX
  std::string ptx;                        // the instruction, where there is no file
  MemoryCost memory;
  uint64_t waited() const;
};

/// What the warps of one role did.
struct RoleCost : IssueCost {
  uint64_t warps = 0;
  uint64_t lived = 0;                   // cycles from the CTA's start to its end
  std::map<WaitPlace, uint64_t> waits;  // cycles
  void add(const RoleCost& other);
};

/// All launches of one kernel.
struct KernelProfile {
  std::string name;
  std::string label;  // a short name, another for each kernel
  uint64_t launches = 0, cycles = 0, instructions = 0, ctas = 0;
  uint32_t sms = 0;                             // that had a CTA
  uint32_t resident = 0;                        // most CTAs on one SM at a time
  uint64_t sm_cycles = 0;                       // cycles times SMs that had a CTA
  uint64_t tensor_core_busy = 0, tma_busy = 0;  // cycles, summed over SMs
  uint64_t copied_in = 0, copied_out = 0;       // bytes by TMA
  IdleCauses::Sum tensor_core;                  // of those that got an MMA: busy, and why not
  MemoryCost memory;
  uint32_t fits = 0;           // CTAs on an SM at a time, as far as its resources go
  std::string fits_limit;      // and what allows no more
  double waves = 0;            // of a launch: its CTAs by those that fit on the GPU at a time; the most of all launches
  PoweredRun cold, sustained;  // of all launches: each alone, each of a long loop
  double band = 0;             // error of predicted cycles in the class of the longest launch: the mean of its rows
  uint64_t longest = 0;        // cycles
  uint32_t chip_sms = 0;       // of the machine
  double l2_peak = 0, device_peak = 0;    // bytes a cycle that the machine's L2 and device memory give
  std::map<std::string, LineCost> lines;  // by place_of()
  std::map<std::string, RoleCost> roles;  // by Role::name()
  /// Several lines, ends with a newline.
  std::string render() const;
  nlohmann::ordered_json json() const;
};

class Profile final : public Observer {
 public:
  Profile();
  ~Profile() override;
  /// In the order of their first launch.
  const std::vector<KernelProfile>& kernels() const { return *kernels_; }

  /// The kernels of the launches to come get labels that begin so: "step 6: persistent".
  void name_launches(std::string name) { *launches_name_ = std::move(name); }

  std::unique_ptr<Observer> another() override {
    return std::unique_ptr<Observer>(new Profile(kernels_, launches_name_));
  }

  void on_launch(const Launch&) override;
  void on_end(const Launch&, const LaunchStats*) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_issue(const AsyncOperation&) override;
  void on_complete(const AsyncOperation&) override;
  void on_sync(const Sync&) override;
  void on_wait(const Wait&) override;
  void on_instruction(const Executed&) override;
  void on_traffic(const MemoryTraffic&) override;

 private:
  /// Cycles blocked at an instruction. The reason gets its name when all is over.
  struct WaitCost {
    const Function* function;
    const Op* op;
    BlockReason reason;
    uint64_t cycles;
    std::string what;  // it waits for
  };
  /// What a LineCost is made of, for one instruction.
  struct SiteCost : IssueCost {
    bool seen = false;
    uint64_t executions = 0;
    std::vector<WaitCost> waits;
    MemoryCost memory;
  };
  struct FunctionCost {
    const Function* function = nullptr;
    std::vector<SiteCost> sites;  // by place in Function::ops
  };
  struct WarpCost : IssueCost {
    Role role;
    std::vector<WaitCost> waits;
  };
  struct CtaCost {
    uint64_t start = 0;
    uint32_t sm = 0;
    std::vector<WarpCost> warps;
  };
  /// What one host thread writes: the SMs that one cluster may span.
  struct Part {
    std::vector<FunctionCost> functions;  // by Function::index
    std::map<CtaKey, CtaCost> ctas;       // resident
    std::map<std::string, RoleCost> roles;
    std::map<uint32_t, uint32_t> resident, most_resident;  // by SM
    uint64_t started = 0, tensor_core_busy = 0, tma_busy = 0, copied_in = 0, copied_out = 0;
    SiteCost& site(const Function& function, const Op& op);
    /// Null: its CTA is gone.
    WarpCost* warp(const CtaKey& cta, int warp);
  };
  Profile(std::shared_ptr<std::vector<KernelProfile>> kernels, std::shared_ptr<std::string> launches_name);
  std::string new_label(const std::string& kernel) const;
  static void fold(Part& part, const CtaCost& cta, uint64_t end, const Launch& launch);

  MbarrierNames mbarriers_;
  PerPartition<Part> parts_;
  IdleCauses idle_;
  std::shared_ptr<std::vector<KernelProfile>> kernels_;  // of all that add to the same ones
  std::shared_ptr<std::string> launches_name_;
};

}  // namespace tinygpu::observe
