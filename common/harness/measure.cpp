#include "common/harness/measure.h"

#include "common/harness/device.h"
#include "common/harness/median.h"

namespace gen5::harness {
namespace {

constexpr int kRepetitions = 15;

Elapsed once(Timer& timer, const std::function<void()>& launch) {
  timer.start();
  launch();
  return timer.stop();
}

}  // namespace

Elapsed measure(const std::function<void()>& launch) {
  Timer timer;
  const Elapsed first = once(timer, launch);
  if (current_device().tinygpu) return first;
  std::vector<double> device, host, cycles;
  for (int i = 0; i < kRepetitions; ++i) {
    const Elapsed e = once(timer, launch);
    device.push_back(e.microseconds);
    host.push_back(e.host_seconds);
    cycles.push_back(e.cycles);
  }
  return {median(device), median(host), median(cycles)};
}

}  // namespace gen5::harness
