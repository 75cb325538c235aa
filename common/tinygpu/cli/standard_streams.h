// What a command prints is its result: a command whose result got lost has failed.
#pragma once
#include <string>

namespace tinygpu::cli {

/// Before anything is opened: a file must not get the number of a stream that is closed, or what is printed goes into
/// it. What stands there afterwards refuses what a closed one does.
void hold_closed_streams();

/// Why standard output has not taken all that was printed; empty: it has.
std::string lost_output();

}  // namespace tinygpu::cli
