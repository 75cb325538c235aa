// A host language drives its own launches: it chooses the machine and, for a stretch of the run, the order of
// completion and the checks, and takes the diagnoses instead of reading them on stderr. Found by name (dlsym), as
// watch.h is; python/gen5 is the user. Texts stay valid until the same function is called again.
#pragma once

extern "C" {

/// Chooses the machine ("b200", or a profile's path) for this process; from then on diagnoses are kept for
/// tinygpu_session_take and no longer printed. Null, or a sentence that says why not: an unknown profile, or another
/// machine that is already in use.
const char* tinygpu_session_open(const char* machine);

/// Begins a stretch; options as JSON, each may be missing:
///   {"order": "timed|late|seeded", "seed": 3, "check": "quick|races", "profile": true, "trace": true, "max_cycles": 0,
///    "threads": 0}
/// A new one ends the one before. Null, or a sentence.
const char* tinygpu_session_begin(const char* options);
/// Ends it: orders and checks are again what the environment says.
void tinygpu_session_end();

/// What was diagnosed since the last call, and how the context is:
///   {"error": 0 or the sticky CUresult, "launches": so far, "cycles": the machine's clock,
///    "diagnoses": [{"code", "severity", "message", "help", "kernel", "file", "line", "column", "text": as gen5 run
///    shows it}]}
const char* tinygpu_session_take();
/// Takes back the sticky error. Unlike on hardware, memory and modules stay.
void tinygpu_session_recover();

/// The kernels' profiles since the stretch began, as GEN5_PROFILE_JSON has them. Null without "profile".
const char* tinygpu_session_profile();
/// The timeline since the stretch began, for ui.perfetto.dev; the next launches begin a new one. Null without "trace".
const char* tinygpu_session_trace();

/// Nothing lies in L2 any more, as before the timed run of a benchmark.
void tinygpu_session_clear_l2();
}
