// Where a process's diagnoses go: stderr, and a SARIF log if one is asked for (GEN5_SARIF).
#pragma once
#include <optional>
#include <string>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu::cuda {

/// A diagnosis on stderr, with the lines of its source, in colour on a terminal. Rule and example of a code are told
/// once in a process, and so is a diagnosis that several launches lead to; the first diagnosis says how to read more,
/// the first error of a kernel how to stand there in the debugger. From any thread.
void show(const Diagnosis& d);

/// The launches to come are called so. From any thread.
void name_launches(const std::string& name);

/// One diagnosis in the usual form, without a place: for what the API refuses.
void say(const char* code, const std::string& message, const std::string& help = {});

/// From now on diagnoses go to `listener`, each with its text, and no longer to stderr. It is called on any thread, one
/// call at a time.
void listen(void (*listener)(const Diagnosis&, const std::string& text));

/// From now on `printer` is called with what would go to stderr, as `listener` above; null: stderr has it again.
void print_by(void (*printer)(const Diagnosis&, const std::string& text));

/// A line of a source that the program's line information names; nothing where it cannot be read. From any thread.
std::optional<std::string> source_line(const std::string& file, int line);

/// Names the function; NOT_SUPPORTED.
int say_not_implemented(const char* function);

/// The log is written when the machine is made, with each new finding, and at the end of the process, so that one that
/// is killed leaves what it had. These tell it how far the process is.
void log_begin();
/// In the child of a fork(): the log is the parent's, but for one whose name has %p in it.
void log_forked();
void log_launch();
void log_end();

}  // namespace tinygpu::cuda
