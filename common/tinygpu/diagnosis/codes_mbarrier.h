// Diagnoses of mbarriers.
#pragma once
#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::diagnosis {

inline constexpr CodeInfo kMbarrierCodes[] = {
    {"mbarrier-count-range", kError, "A count of arrivals outside of 1 to 1048575.",
     Rule{"Expected and pending arrivals have 20 bits.", "9.7.13.15.2 Contents of the mbarrier object"},
     Hardware{measured,
              "init 0 goes on, with a phase and a byte count that nobody asked for. An arrive of 2^20 is error 719."},
     Fix{"Initialise with the number of arrivals of a phase. cp.async.mbarrier.arrive without .noinc adds one of "
         "its own."}},
    {"mbarrier-drop-to-zero", kNote,
     "arrive_drop has taken the last expected arrival away: from the next phase on nobody is expected.",
     Rule{"arrive_drop lowers the count of all later phases. An arrive on what is left is an arrival too many.",
          "9.7.13.15.14 mbarrier.arrive_drop"},
     Hardware{measured, "Goes on. A later arrive is error 719; complete_tx of 0 ends the phase once more."},
     Fix{"Invalidate the object, or initialise it again, before it is used for other things."}},
    {"mbarrier-init-not-published", kError | kWarning | kNote,
     "An mbarrier is used by a thread, or signalled by a copy or a commit, that need not see its initialisation.",
     Rule{"mbarrier.init is a store: other threads see it behind a barrier; those of other CTAs, and copies, behind "
          "fence.mbarrier_init (or fence.proxy.async) and a barrier.",
          "9.7.13.15.9 mbarrier.init"},
     Hardware{inferred, "Error 719 for an arrive that comes first; a wait that never ends."},
     Fix{"Initialise in one thread, fence, and let all meet.",
         "mbarrier.init.shared::cta.b64 [bar], n;  fence.mbarrier_init.release.cluster;   // one thread\n"
         "bar.sync 0;   // in a cluster: barrier.cluster.arrive;  barrier.cluster.wait;"}},
    {"mbarrier-memory-reused", kWarning, "An ordinary access, or a copy, to the bytes of a live mbarrier.",
     Rule{"From init to inval the 8 bytes belong to mbarrier instructions alone.",
          "9.7.13.15.3 Lifecycle of the mbarrier object"},
     Hardware{
         measured,
         "A load gives the bytes that lay there before init: the object lives elsewhere until inval brings it back."},
     Fix{"End the object first. To look at its state use test_wait, or the token of an arrive.",
         "mbarrier.inval.shared::cta.b64 [bar];   // in one thread, behind a barrier of all its users"}},
    {"mbarrier-misaligned", kError, "An mbarrier at an address that is no multiple of 8.",
     Rule{"An mbarrier is 8 bytes, aligned to 8.", "9.7.13.15.1 Size and alignment of mbarrier object"},
     Hardware{inferred, "Error 716, as other accesses have it."},
     Fix{"Declare it as uint64_t; in dynamic shared memory keep mbarriers ahead of smaller things.",
         "__shared__ uint64_t full[stages], empty[stages];"}},
    {"mbarrier-no-complete", kError, "arrive.noComplete brings the last arrival of a phase.",
     Rule{".noComplete promises not to end the phase; if it would, the behaviour is undefined.",
          "9.7.13.15.13 mbarrier.arrive"},
     Hardware{measured, "The phase ends. Not promised."}, Fix{"Let an arrive without .noComplete be the last."}},
    {"mbarrier-not-initialised", kError | kWarning,
     "An operation on 8 bytes that are no mbarrier: never initialised, or invalidated.",
     Rule{"init comes first, in one thread, and is made visible to all who use the object, copies included.",
          "9.7.13.15.3 Lifecycle of the mbarrier object"},
     Hardware{
         measured,
         "An arrive on eight zero bytes is error 719. expect_tx, complete_tx and waits take the bytes as they are, "
         "and so does everything after inval: a warning."},
     Fix{"One thread initialises; then a fence and a barrier, before anybody else uses it.",
         "mbarrier.init.shared::cta.b64 [bar], count;   // one thread\n"
         "fence.mbarrier_init.release.cluster;\n"
         "bar.sync 0;                                    // barrier.cluster if others of the cluster use it"}},
    {"mbarrier-not-local", kError,
     "A wait, init, inval or an arrive that returns a state, on an mbarrier of another CTA.",
     Rule{"From outside only arrive, arrive_drop, expect_tx and complete_tx reach an mbarrier, and arrive returns "
          "nothing.",
          "9.7.13.15.8 mbarrier support with shared memory"},
     Hardware{measured, "Error 715, for test_wait."},
     Fix{"Wait in the CTA that has the mbarrier; arrive from outside with the sink.",
         "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];"}},
    {"mbarrier-over-arrival", kError, "More arrivals than the phase waits for.",
     Rule{"Pending arrivals never fall below 0. Each lane of a warp counts, and so does each tcgen05.commit and each "
          "cp.async.mbarrier.arrive.noinc.",
          "9.7.13.15.13 mbarrier.arrive"},
     Hardware{measured, "Error 719, also while only bytes are missing."},
     Fix{"Initialise with the number of arrivals that really come, or let one lane arrive. Who is a phase ahead has to "
         "wait before it arrives again.",
         "if (threadIdx.x % 32 == 0) arrive(bar);   // one arrival a warp"}},
    {"mbarrier-parity-range", kWarning, "A wait for a parity that is neither 0 nor 1.",
     Rule{"phaseParity is the parity of a phase: 0 for an even one, 1 for an odd one.",
          "9.7.13.15.16 mbarrier.test_wait, mbarrier.try_wait"},
     Hardware{generated, "The lowest bit counts; the code shifts the others out."},
     Fix{"Reduce a counter of phases before it is passed, and see that it counts phases and not slots.",
         "mbarrier_try_wait_parity(full[slot], (round / stages) & 1);"}},
    {"mbarrier-phase-skipped", kError, "A wait for a phase that ended two or more phases ago.",
     Rule{"Only the phase in progress and the one before it can be asked for: an mbarrier shows its phase's parity "
          "alone.",
          "9.7.13.15.16 mbarrier.test_wait, mbarrier.try_wait"},
     Hardware{measured, "It answers from the parity, as if a phase two later were meant: the wait may never end."},
     Fix{"Let every waiter see each phase end before the next can end: a second mbarrier, on which the waiters arrive, "
         "holds the others back."}},
    {"mbarrier-phase-unobserved", kWarning, "An arrive in a phase before any thread has seen the phase before it end.",
     Rule{"Of each phase, a test_wait or try_wait has to succeed before arrivals of the next.",
          "9.7.13.15.4 Phase of the mbarrier object"},
     Hardware{measured, "Goes on. A waiter that is late sees the parity come round again, and hangs."},
     Fix{"Wait for the phase, in whoever arrives or in whoever that one waits for."}},
    {"mbarrier-reinit", kWarning, "mbarrier.init where an mbarrier is live.",
     Rule{"An object ends by inval before its bytes serve as another one.",
          "9.7.13.15.3 Lifecycle of the mbarrier object"},
     Hardware{measured, "The new object replaces the old one. Who still waits on that one waits on the new."},
     Fix{"Let one thread initialise, once; call mbarrier.inval before the next init."}},
    {"mbarrier-tx-mismatch", kError | kWarning, "The bytes that land and the bytes that expect_tx names do not fit.",
     Rule{"A phase counts bytes: expect_tx adds, landing subtracts. It ends at 0, so all bytes of a phase are named "
          "in it before its last arrival. The count stays within 1048575 on both sides.",
          "9.7.13.15.5 Tracking asynchronous operations by the mbarrier object"},
     Hardware{
         measured,
         "Past the limits: error 719. Too few bytes named: the phase ends before all of them have landed, or never. "
         "Too many: it never ends."},
     Fix{"Name exactly what lands: of a tensor copy the whole box, also where it reaches out of the tensor; of a CTA "
         "pair whose copies signal one mbarrier the bytes of both.",
         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], bytes_of_a_and_b;   // then the copies"}},
    {"mbarrier-wait-passes-initially", kWarning,
     "A wait for parity 1 passes before the first phase of an mbarrier at which bytes are to arrive.",
     Rule{"The phase before the first counts as complete, and its parity is 1. Who waits for data begins with 0.",
          "9.7.13.15.16 mbarrier.test_wait, mbarrier.try_wait"},
     Hardware{measured, "The wait passes at once. What is read then is what lay there before."},
     Fix{"Begin with parity 0 where data is waited for, and with 1 only where a free slot is, on the mbarrier on "
         "which its readers arrive.",
         "uint32_t full_parity = 0, empty_parity = 1;   // consumer, producer"}},
};

}  // namespace tinygpu::diagnosis
