// A program, or a host language, drives and observes its own launches: it may choose the machine, and for a stretch of
// the run the order of completion, the checks and what is kept; it takes the diagnoses instead of reading them on
// stderr. The functions are found by name (dlsym), so that their users need nothing of tinygpu to be built, and learn
// by their absence that they run on other hardware: python/gen5 and common/harness/watch.h. Texts stay valid until the
// same function is called again.
#pragma once
#include <cstdint>

extern "C" {

/// Chooses the machine ("b200", or a profile's path) for this process; from then on diagnoses are kept for
/// tinygpu_session_take and no longer printed. Null, or a sentence that says why not: an unknown profile, or another
/// machine that is already in use.
const char* tinygpu_session_open(const char* machine);

/// Begins a stretch. Options are JSON, and each may be missing: the keys of the table in api/options.h, which
/// tinygpu_session_options lists ("order", "seed", "check" …), where the environment's values are the defaults; and
/// what is to be kept of the stretch: {"profile": true, "trace": true, "timeline": true, "diagnoses": true}. With the
/// last, what stderr would have been told is kept for tinygpu_session_take, and the program prints it.
/// A new one ends the one before. Null, or a sentence.
const char* tinygpu_session_begin(const char* options);
/// Ends it: orders and checks are again what the environment says.
void tinygpu_session_end();

/// The table of options: [{"variable": "GEN5_ORDER", "flag": "--order", "key": "order", "values": "timed|late|seeded",
/// "help": …}, …]. What does not apply is null; without values it is on or off.
const char* tinygpu_session_options();

/// A machine, in use or not: {"name", "sms", "clock_ghz", "peaks": {"peak.f16": …}}, what it has of the keys of its
/// profile that timing/peaks.h reads. {"error": a sentence} of an unknown one.
const char* tinygpu_session_machine(const char* machine);

/// What was diagnosed since the last call, and how the context is:
///   {"error": 0 or the sticky CUresult, "launches": so far, "cycles": the machine's clock,
///    "diagnoses": [{"code", "severity", "message", "help", "kernel", "file", "line", "column", "text": as gen5 run
///    shows it, "places": [{"cta": [x, y, z], "warp", "thread", "operation", "cycle" …, "label": what happened
///    there}]}]}
/// Of a place, what is not known is not there. A stretch's "diagnoses" have its "clock", too: %clock64 when its thread
/// did that, or issued the operation.
const char* tinygpu_session_take();
/// Takes back the sticky error. Unlike on hardware, memory and modules stay.
void tinygpu_session_recover();

/// The kernels' profiles since the stretch began, as GEN5_PROFILE_JSON has them. Null without "profile".
const char* tinygpu_session_profile();
/// The timeline since the stretch began, for ui.perfetto.dev; the next launches begin a new one. Null without "trace".
const char* tinygpu_session_trace();
/// The last launch on the SM of its first CTA, times in SM cycles since it began: its CTAs, their asynchronous
/// operations, and when their threads' waits and arrivals at mbarriers were. Null without "timeline", or a launch.
const char* tinygpu_session_timeline();

/// Diagnoses, profiles and timelines call kernels that are launched from now on so: of "step 6" and a kernel
/// persistent() they make "step 6: persistent". Null or empty: by the kernel's name alone again. Null, or a sentence.
const char* tinygpu_session_name(const char* launches);
/// A timeline that the program has written down itself, for the page of --report: its tasks by row, and which waited
/// for which (observe/report/program_timeline.h has the form). Null, or a sentence. Without a report nothing happens.
const char* tinygpu_session_spans(const char* timeline);

/// Where the host reaches device memory that lies at this address, when all that was submitted is done, so that a host
/// language's own operators can stand in for kernels. It is going to write this many bytes there, and may read any. 0
/// if it is no such memory.
uint64_t tinygpu_session_host_address(uint64_t address, uint64_t written);

/// The program's allocator gives whole blocks of so many bytes, a power of two: accesses behind an allocation's end,
/// but in its last block, are warnings.
void tinygpu_session_blocks(uint64_t bytes);

/// Rows of A times rows of B, `depth` elements in a row: f32 sums at d, row by row, with the bits of tensor cores
/// (api/matrix_products.h, which has the numbers of elements' types and `promoted`). For stand-ins of libraries;
/// several threads may call it at a time.
void tinygpu_session_product(const void* a, uint32_t rows, uint32_t a_element, const void* b, uint32_t columns,
                             uint32_t b_element, uint32_t depth, uint32_t promoted, float* d);

/// SM cycles so far, of all that has been submitted: seconds depend on the clock that power leaves, these do not.
uint64_t tinygpu_session_cycles();

/// Nothing lies in L2 any more, as before the timed run of a benchmark.
void tinygpu_session_clear_l2();
}
