// The exit code of a process in which something went wrong that its program does not know of, or passes over.
#pragma once

namespace tinygpu::cuda {

/// A file that the user asked for cannot be written: exit code 1 where the program's is 0.
void fail_at_exit();

/// An error was diagnosed that is the program's own. The process ends with the code that set_code_of_errors() has set,
/// if that is not 0. From any thread.
void error_was_diagnosed();
/// Once, before the program's own exit handlers can run: GEN5_EXIT_CODE.
void set_code_of_errors(int code);
/// In the child of a fork(): the errors so far are the parent's.
void forget_errors();

}  // namespace tinygpu::cuda
