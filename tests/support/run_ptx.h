// Runs PTX text on a tinygpu machine without any CUDA API: for tests of the machine and of instructions.
#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "common/tinygpu/check/checks.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/program/program.h"

namespace tinygpu::test {

/// The b200 profile with 8 SMs, 4 GiB and a clock of 1 GHz (a cycle is a nanosecond).
MachineSpec plain_machine();
/// The h200 profile with 8 SMs and 4 GiB; for sm_90a code.
MachineSpec hopper_machine();

/// The header every test kernel needs.
std::string ptx_header(const std::string& target = "sm_100a", const std::string& version = "9.4");

/// One GPU, one program.
class RunPtx {
 public:
  /// `text`: a whole module, or a body without .version/.target (then ptx_header() is put before it).
  explicit RunPtx(const std::string& text, MachineSpec spec = plain_machine());
  ~RunPtx();

  /// Device memory of `count` T, zeroed or copied from `from`.
  template <class T>
  uint64_t buffer(size_t count) {
    return gpu.memory.allocate(count * sizeof(T), 256, MemoryKind::device);
  }
  template <class T>
  uint64_t upload(const std::vector<T>& from) {
    const uint64_t a = buffer<T>(from.size());
    std::memcpy(gpu.memory.translate(a, from.size() * sizeof(T)), from.data(), from.size() * sizeof(T));
    gpu.l2.written(a, from.size() * sizeof(T));
    return a;
  }
  template <class T>
  std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> out(count);
    std::memcpy(out.data(), gpu.memory.translate(address, count * sizeof(T)), count * sizeof(T));
    return out;
  }

  /// Kernel parameters by value, placed by the kernel's .param layout. Throws KernelFault.
  template <class... P>
  LaunchStats launch(const std::string& kernel, Dim3 grid, Dim3 block, P... params) {
    std::vector<std::vector<uint8_t>> bytes;
    (bytes.push_back(to_bytes(params)), ...);
    return launch_bytes(kernel, grid, block, bytes);
  }
  LaunchStats launch_bytes(const std::string& kernel, Dim3 grid, Dim3 block,
                           const std::vector<std::vector<uint8_t>>& params);

  /// Two grids of a stream, the second one as a programmatic dependent launch.
  void launch_dependent(const LaunchConfig& primary, const LaunchConfig& dependent);

  /// The same launch for a GridScheduler: `checks` watch it while `Watched` lives.
  template <class... P>
  LaunchConfig config(const std::string& kernel, Dim3 grid, Dim3 block, P... params) {
    std::vector<std::vector<uint8_t>> bytes;
    (bytes.push_back(to_bytes(params)), ...);
    return config_bytes(kernel, grid, block, bytes);
  }
  class Watched {
   public:
    explicit Watched(RunPtx& run);
    ~Watched() { observers_ = before_; }

   private:
    std::vector<Observer*>& observers_;
    const std::vector<Observer*> before_;
  };

  /// Runs and returns the diagnosis that stopped the kernel; fails the test if it ran to its end.
  template <class... P>
  Diagnosis fault_of(const std::string& kernel, Dim3 grid, Dim3 block, P... params) {
    try {
      launch(kernel, grid, block, params...);
    } catch (const KernelFault& f) {
      return f.diagnosis;
    }
    expected_fault();
    return {};
  }

  Gpu gpu;
  std::unique_ptr<Program> program;
  Dim3 cluster;  // for the launches that follow
  uint32_t dynamic_shared = 0;
  checks::AllChecks checks{checks::Level::without_races};  // watch every launch, beside those of gpu.options
  std::vector<Diagnosis> reports;                          // warnings and notes
  std::string output;                                      // device printf

 private:
  template <class T>
  static std::vector<uint8_t> to_bytes(const T& v) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<uint8_t> b(sizeof(T));
    std::memcpy(b.data(), &v, sizeof(T));
    return b;
  }
  LaunchConfig config_bytes(const std::string& kernel, Dim3 grid, Dim3 block,
                            const std::vector<std::vector<uint8_t>>& params) const;
  static void expected_fault();
  struct Store;
  std::unique_ptr<Store> store_;
};

}  // namespace tinygpu::test
