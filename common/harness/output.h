// What a program prints is its result.
#pragma once

namespace gen5::harness {

/// The exit code, once standard output has taken all that was printed; if it has not, that is said and a code of 0
/// becomes 1.
int code_with_output(int code);

}  // namespace gen5::harness
