// A program watches its own launches. It finds these two functions by name (dlsym), so that it needs nothing of tinygpu
// to be built, and learns by their absence that it runs on other hardware.
#pragma once

extern "C" {

/// From here on launches are watched.
void tinygpu_watch_begin();

/// No longer. Returns a document in JSON that stays valid until the next call:
///   {"profile": [a kernel's as GEN5_PROFILE_JSON has it, …], "timeline": {the last launch on the SM of its first CTA}}
/// times of the timeline in SM cycles since its launch began; both are missing where nothing was launched. Null where
/// nobody began.
const char* tinygpu_watch_end();
}
