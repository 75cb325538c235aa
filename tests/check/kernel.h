// Small kernels under the happens-before check, and what it finds in them.
#pragma once
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/bulk_tensor/map_bits.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {

/// A body that runs in every thread. It finds: %t thread, %w warp, %l lane, %k rank of the CTA in its cluster; %s,
/// shared address of 16 KiB, aligned to 1024; %b, shared address of eight mbarriers, of which thread 0 has initialised
/// the first four with a count of 1 and the others with 32, and everybody knows; %i and %o, 16 KiB of global memory
/// each; registers %r0..15, %rd0..7, predicates %p0..7; %p8: thread 0; %p9: lane 0; %p10: warp 0; %p11: warp 1; %p12
/// true, %p13 false. With `tensor`: 128 columns of Tensor Memory, %base their address, %mine the same with the warp's
/// lanes; %m, address of tensor maps, 128 bytes each, of what is at %i; %desc describes 128 rows of 16 f16 elements at
/// %s, %idesc an MMA of 128 × 16 × 16.
struct Kernel {
  std::string body;
  uint32_t threads = 64;
  uint32_t ctas = 1;  // of a cluster
  uint32_t clusters = 1;
  bool tensor = false;
  bool hopper = false;     // for sm_90a
  bool unwritten = false;  // reads of unwritten memory count; mostly what is loaded does not matter
  std::vector<MapFields> maps;
  CompletionOrder order = {};
  std::function<std::string(std::string)> change;  // of the whole text
  std::vector<Observer*> observers = {};           // beside the checks

  std::string text() const;
  std::vector<Diagnosis> diagnoses() const;
  /// The same with these checks, and with what stopped it behind it.
  std::vector<Diagnosis> outcome(checks::Level level) const;
  /// What is found, each as race() writes it; notes of what is not checked are left out.
  std::vector<std::string> findings() const;

 private:
  std::vector<Diagnosis> run(checks::Level level, std::vector<Diagnosis>* stopped) const;
};

/// "code: later <- earlier", the instructions without guards; of two that nothing orders, the first of the alphabet
/// first.
std::string race(const std::string& code, const std::string& later, const std::string& earlier);

/// A loop in the threads that `guard` lets through until phase `parity` of the mbarrier at %b + offset is complete.
std::string wait(const std::string& guard, int offset = 0, int parity = 0, const std::string& form = "");

/// What is found in every order of completion; the same number in each.
std::vector<std::string> found_in_all_orders(Kernel k);

}  // namespace tinygpu::test
