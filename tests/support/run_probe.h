// Runs a probe on tinygpu and reads what it measured.
#pragma once
#include <map>
#include <string>

namespace gen5::test {

/// Benchmark name (without its run options) → the counter `cycles`, of the program `probe` on tinygpu with the profile
/// `machine`; rows that match `filter` alone, if there is one. Throws when it cannot be run, fails, or prints no JSON.
std::map<std::string, double> run_probe(const std::string& probe, const std::string& machine,
                                        const std::string& filter = ".");

}  // namespace gen5::test
