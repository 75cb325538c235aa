// Diagnoses of mbarriers.
#pragma once
#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::diagnosis {

inline constexpr CodeInfo kMbarrierCodes[] = {
    {"mbarrier-count-range", kError, "A count of arrivals outside of 1 to 1048575.",
     Rule{"Expected and pending arrivals have 20 bits.", "9.7.13.15.2 Contents of the mbarrier object"},
     Hardware{measured, "init 0 goes on, with an arbitrary phase and byte count. An arrive of 2^20 is error 719."},
     Fix{"Initialise with the number of arrivals of a phase. cp.async.mbarrier.arrive without .noinc itself adds one "
         "expected arrival."}},
    {"mbarrier-drop-to-zero", kNote,
     "arrive_drop has removed the last expected arrival: later phases expect no arrival.",
     Rule{"arrive_drop lowers the count of all later phases. At a count of 0 every arrive is one too many.",
          "9.7.13.15.14 mbarrier.arrive_drop"},
     Hardware{measured, "Goes on. A later arrive is error 719; complete_tx of 0 ends the phase once more."},
     Fix{"Invalidate the mbarrier, or initialise it again, before its next use."}},
    {"mbarrier-init-not-published", kError | kWarning | kNote,
     "A thread uses an mbarrier, or a copy or commit signals it, without being ordered after its initialisation.",
     Rule{"mbarrier.init is a store: other threads see it after a barrier; threads of other CTAs, and copies, see it "
          "after fence.mbarrier_init (or fence.proxy.async) and a barrier.",
          "9.7.13.15.9 mbarrier.init"},
     Hardware{inferred, "Error 719 for an arrive that comes first; a wait that never ends."},
     Fix{"Initialise in one thread, fence, and let all threads meet at a barrier.",
         "mbarrier.init.shared::cta.b64 [bar], n;  fence.mbarrier_init.release.cluster;   // one thread\n"
         "bar.sync 0;   // in a cluster: barrier.cluster.arrive;  barrier.cluster.wait;"}},
    {"mbarrier-late-wait", kWarning,
     "A thread may come to its wait for a phase when the phase behind it has ended, too.",
     Rule{"A wait is for the current phase or the one before it: it has to come before the next one can end.",
          "9.7.13.15.16 mbarrier.test_wait, mbarrier.try_wait"},
     Hardware{inferred,
              "The wait finds the parity of the phase before, and ends a phase late or never. An H200 hung in a kernel "
              "whose stages were given back by one warp while three others waited for them, too."},
     Fix{"Let every warp that waits give the stage back, too; or let them meet before one arrives for all.",
         "bar.warp.sync 0xffffffff;   // in each warp that waits\n"
         "@elected mbarrier.arrive.shared::cta.b64 _, [empty];"}},
    {"mbarrier-memory-reused", kWarning, "An ordinary access, or a copy, to the bytes of a live mbarrier.",
     Rule{"From init to inval only mbarrier instructions may touch the 8 bytes.",
          "9.7.13.15.3 Lifecycle of the mbarrier object"},
     Hardware{measured,
              "A load returns the bytes from before init: hardware keeps the mbarrier elsewhere until inval."},
     Fix{"Invalidate the mbarrier first. To read its state use test_wait, or the token of an arrive.",
         "mbarrier.inval.shared::cta.b64 [bar];   // in one thread, after a barrier of all its users"}},
    {"mbarrier-misaligned", kError, "An mbarrier at an address that is no multiple of 8.",
     Rule{"An mbarrier is 8 bytes, aligned to 8.", "9.7.13.15.1 Size and alignment of mbarrier object"},
     Hardware{inferred, "Error 716, as for other misaligned accesses."},
     Fix{"Declare it as uint64_t; in dynamic shared memory keep mbarriers ahead of smaller things.",
         "__shared__ uint64_t full[stages], empty[stages];"}},
    {"mbarrier-no-complete", kError, "arrive.noComplete makes the last arrival of a phase.",
     Rule{".noComplete promises not to end the phase; if it would, the behaviour is undefined.",
          "9.7.13.15.13 mbarrier.arrive"},
     Hardware{measured, "The phase ends. Not promised."}, Fix{"Let an arrive without .noComplete be the last."}},
    {"mbarrier-not-initialised", kError | kWarning,
     "An operation on 8 bytes that are no mbarrier: they were never initialised, or were invalidated.",
     Rule{"One thread executes init first and makes it visible to all users of the mbarrier, including copies.",
          "9.7.13.15.3 Lifecycle of the mbarrier object"},
     Hardware{
         measured,
         "An arrive on eight zero bytes is error 719. expect_tx, complete_tx and waits use the bytes as they are, and "
         "after inval every operation does so: a warning."},
     Fix{"One thread initialises; then a fence and a barrier, before another thread uses it.",
         "mbarrier.init.shared::cta.b64 [bar], count;   // one thread\n"
         "fence.mbarrier_init.release.cluster;\n"
         "bar.sync 0;                                    // barrier.cluster if other CTAs use it"}},
    {"mbarrier-not-local", kError,
     "A wait, init, inval or an arrive that returns a state, on an mbarrier of another CTA.",
     Rule{"Other CTAs may only execute arrive, arrive_drop, expect_tx and complete_tx on an mbarrier, and arrive then "
          "returns no state.",
          "9.7.13.15.8 mbarrier support with shared memory"},
     Hardware{measured, "Error 715, for test_wait."},
     Fix{"Wait in the CTA that has the mbarrier; arrive from another CTA with the sink symbol _.",
         "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];"}},
    {"mbarrier-over-arrival", kError, "A phase gets more arrivals than it expects.",
     Rule{"Pending arrivals never fall below 0. Each lane of a warp counts, and so does each tcgen05.commit and each "
          "cp.async.mbarrier.arrive.noinc.",
          "9.7.13.15.13 mbarrier.arrive"},
     Hardware{measured, "Error 719, also while only bytes are missing."},
     Fix{"Initialise with the true number of arrivals, or let one lane arrive. A thread that is a phase ahead must "
         "wait before it arrives again.",
         "if (threadIdx.x % 32 == 0) arrive(bar);   // one arrival a warp"}},
    {"mbarrier-parity-range", kWarning, "A wait for a parity that is neither 0 nor 1.",
     Rule{"phaseParity is the parity of a phase: 0 for an even one, 1 for an odd one.",
          "9.7.13.15.16 mbarrier.test_wait, mbarrier.try_wait"},
     Hardware{generated, "The lowest bit counts; ptxas's code shifts the other bits out."},
     Fix{"Pass the phase counter modulo 2, and check that it counts phases and not stages.",
         "mbarrier_try_wait_parity(full[stage], (round / stages) & 1);"}},
    {"mbarrier-phase-skipped", kError, "A wait for a phase that ended two or more phases ago.",
     Rule{"A wait can be for the current phase or the one before it: an mbarrier shows only its phase's parity.",
          "9.7.13.15.16 mbarrier.test_wait, mbarrier.try_wait"},
     Hardware{measured, "The wait compares the parity, as if it were for a phase two later: it may never end."},
     Fix{"Let every waiting thread see each phase end before the next can end: add a second mbarrier on which the "
         "waiting threads arrive, and wait for it before the next phase's arrivals."}},
    {"mbarrier-phase-unobserved", kWarning,
     "A thread arrives in a phase although no thread has seen the previous "
     "phase end.",
     Rule{"In each phase a test_wait or try_wait must succeed before the next phase's arrivals.",
          "9.7.13.15.4 Phase of the mbarrier object"},
     Hardware{measured, "Goes on. A late waiting thread misses a phase, sees the old parity again, and hangs."},
     Fix{"Wait for the previous phase in the thread that arrives, or in a thread that it waits for."}},
    {"mbarrier-reinit", kWarning, "mbarrier.init on a live mbarrier.",
     Rule{"mbarrier.inval ends an mbarrier before its bytes become another one.",
          "9.7.13.15.3 Lifecycle of the mbarrier object"},
     Hardware{measured,
              "The new mbarrier replaces the old one. A thread that still waits on the old mbarrier waits on "
              "the new one."},
     Fix{"Let one thread initialise, once; call mbarrier.inval before the next init."}},
    {"mbarrier-tx-mismatch", kError | kWarning, "The bytes that land are not the bytes that expect_tx names.",
     Rule{"A phase counts bytes: expect_tx adds, landing subtracts. It ends at 0, so expect_tx must name all bytes of "
          "a phase before its last arrival. The count stays within 1048575 on both sides.",
          "9.7.13.15.5 Tracking asynchronous operations by the mbarrier object"},
     Hardware{
         measured,
         "Past the limits: error 719. Too few bytes named: the phase ends before all of them have landed, or never. "
         "Too many: it never ends."},
     Fix{"Name exactly the bytes that land. For a tensor copy these are the whole box, including its part outside of "
         "the tensor; if the copies of a CTA pair signal one mbarrier, the bytes of both CTAs.",
         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], bytes_of_a_and_b;   // then the copies"}},
    {"mbarrier-wait-passes-initially", kWarning,
     "A wait for data has parity 1 on a fresh mbarrier and passes before any byte has landed.",
     Rule{"The phase before the first counts as complete, and its parity is 1. A thread that waits for data begins "
          "with parity 0.",
          "9.7.13.15.16 mbarrier.test_wait, mbarrier.try_wait"},
     Hardware{measured, "The wait passes at once, and the thread reads old data."},
     Fix{"Begin with parity 0 to wait for data. Begin with parity 1 only to wait for a free stage, on the mbarrier on "
         "which its readers arrive.",
         "uint32_t full_parity = 0, empty_parity = 1;   // consumer, producer"}},
};

}  // namespace tinygpu::diagnosis
