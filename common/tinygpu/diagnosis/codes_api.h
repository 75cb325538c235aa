// What the CUDA API of tinygpu says beside its error code.
#pragma once
#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::diagnosis {

inline constexpr CodeInfo kApiCodes[] = {
    {"attribute-refused", kError, "cudaFuncSetAttribute sets more dynamic shared memory than is left.",
     Rule{"Static and dynamic shared memory together must not exceed the device's opt-in limit for a CTA (227 KiB)."},
     Hardware{documented, "The call returns cudaErrorInvalidValue."},
     Fix{"Set less, or turn static arrays into dynamic memory."}},
    {"bad-option", kError, "An option in the environment (GEN5_…), or the machine profile, cannot be read.",
     Rule{"Options are read when the program first calls CUDA; a mistake there ends it."},
     Fix{"`gen5 run --help` has the options and their values, `gen5 machine` the machines."}},
    {"check-coverage", kNote, "What a run of this kernel does not test.",
     Rule{"Some mistakes show only when a ring fills a stage again, when a persistent kernel takes its second tile, or "
          "when a CTA of a later wave meets what an earlier CTA has left."},
     Fix{"Check a larger problem too.", "gen5 check --sizes 'K=64,256' ./gemm 128 128 {K}"}},
    {"delayable-lines", kNote, "Lines whose effects an order of completion may move: for gen5 check itself.",
     Rule{"Asynchronous operations complete at no promised time, and mbarrier.try_wait may return false early."},
     Fix{"Nothing is wrong."}},
    {"device-choice", kError, "The device that GEN5_DEVICE names is absent or not usable.",
     Rule{"auto takes a Blackwell GPU if there is one, and otherwise tinygpu; hardware and tinygpu take no other."},
     Fix{"Do what the message says; GEN5_DEVICE=tinygpu always works.", "GEN5_DEVICE=auto|hardware|tinygpu"}},
    {"file-not-found", kError, "A file of device code cannot be read.",
     Rule{"cuModuleLoad and cuLibraryLoadFromFile read a PTX, cubin or fatbin file."},
     Hardware{documented, "The call returns CUDA_ERROR_FILE_NOT_FOUND."},
     Fix{"Check the path, seen from the program's working directory."}},
    {"host-out-of-memory", kError, "The host has no memory left for the machine model.",
     Rule{"Device memory and all state of the SMs are memory of the host."},
     Fix{"Run a smaller problem, or fewer host threads (gen5 run --threads)."}},
    {"internal", kError, "tinygpu failed in an unforeseen way.",
     Rule{"That is a defect of tinygpu, not of the program."},
     Fix{"Please report it, with the program and the message."}},
    {"invalid-copy", kError, "A copy whose source or destination range is not entirely memory of that kind.",
     Rule{"The whole range of both sides lies in one allocation, or in memory of the process."},
     Hardware{documented, "The call returns cudaErrorInvalidValue."},
     Fix{"Compare size, pitch and offsets with the allocation; check that pointers and kind are not swapped."}},
    {"invalid-fill", kError, "cudaMemset past the end of an allocation.",
     Rule{"The whole range lies in one allocation."}, Hardware{documented, "The call returns cudaErrorInvalidValue."},
     Fix{"Sizes of cudaMemset are bytes, those of cuMemsetD16 and D32 elements."}},
    {"invalid-free", kError, "cudaFree, or a similar call, of a pointer that is no live allocation of that kind.",
     Rule{"Free a pointer once, unchanged, by the call that belongs to its allocation."},
     Hardware{documented, "The call returns cudaErrorInvalidValue."},
     Fix{"The message says what lies at the address, or lay there."}},
    {"invalid-mapping", kError, "A call of virtual memory management (cuMemMap and the like) that breaks a rule of it.",
     Rule{"Memory has a size of whole 2 MiB. It is mapped once it has a reserved range, and is unmapped, made "
          "reachable and "
          "freed whole. (CUDA driver API, Virtual Memory Management)"},
     Hardware{documented, "The call returns CUDA_ERROR_INVALID_VALUE."}, Fix{"The message says which rule it is."}},
    {"invalid-host-memory", kError, "cudaHostRegister of memory that the process does not have, or cannot write.",
     Rule{"The range belongs to the process, all of it."},
     Hardware{documented, "The call returns cudaErrorInvalidValue."},
     Fix{"Register whole, live blocks of memory that are not read-only."}},
    {"kernel-not-decoded", kError, "A kernel's PTX is legal, but tinygpu cannot make a program of it.",
     Rule{"Each instruction is decoded once, before the first launch."},
     Fix{"The message names the instruction; `gen5 isa FAMILY` lists the forms that execute."}},
    {"launch-attribute", kError, "A launch attribute that tinygpu does not have.",
     Rule{"tinygpu does what an attribute says, or it refuses the launch."},
     Fix{"Leave the attribute out on tinygpu."}},
    {"launch-refused", kError,
     "A launch that no device could execute: grid, block, cluster, shared memory, registers or parameters.",
     Rule{"The limits are those of the device, of the kernel (__launch_bounds__, __cluster_dims__) and of its "
          "attributes."},
     Hardware{documented, "The launch returns an error code, and the kernel does not run."},
     Fix{"The message has the number and its limit. Above 48 KiB of dynamic shared memory the kernel needs the "
         "attribute.",
         "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);"}},
    {"memory-leak", kWarning, "The program ends with device memory allocated.",
     Rule{"The end of a program frees everything, but a program that allocates again and again runs out of memory. "
          "--memory switches this check on."},
     Hardware{documented, "Nothing, until memory is used up."}, Fix{"Free what is allocated, in the order of use."}},
    {"module-not-loaded", kError,
     "Device code that cannot be loaded: no PTX for this machine, PTX with mistakes, or no device code at all.",
     Rule{"tinygpu runs PTX; machine code (cubin) alone it cannot run."},
     Fix{"Compile so that the program carries PTX.",
         "nvcc -cudart shared -gencode 'arch=compute_100a,code=[sm_100a,compute_100a]' …"}},
    {"no-such-kernel", kError, "The host code names a kernel that the PTX does not have.",
     Rule{"Host and device code of a program come from one build."},
     Fix{"Build anew; link all objects with the same options."}},
    {"not-implemented", kError, "A call of the CUDA API that tinygpu does not have.",
     Rule{"A call does what CUDA's does, or it returns cudaErrorNotSupported and says its name."},
     Fix{"tinygpu lacks several GPUs, mipmaps, layered and cube textures, surfaces and more. On a GPU the program may "
         "be right."}},
    {"order-explained", kNote,
     "The chain of synchronisation that orders one line before another, or the place where it breaks.",
     Rule{"A thread's operation is ordered before another thread's if a chain of synchronisation leads from the first "
          "to the second.",
          "8.9.5 Causality Order"},
     Fix{"Where the chain breaks, let the first line's thread signal the other thread, and let that thread wait.",
         "gen5 check --explain-order gemm.cu:120 gemm.cu:155 ./gemm"}},
    {"out-of-memory", kError, "Device memory is used up.", Rule{"A machine has the memory that its profile says."},
     Hardware{documented, "The call returns cudaErrorMemoryAllocation."},
     Fix{"Free what is not needed; the message has the numbers."}},
    {"private-interface", kError, "The program asks for a private table of NVIDIA's driver.",
     Rule{"A statically linked CUDA runtime uses tables of the driver that are not public."},
     Fix{"Link the runtime as a shared library.",
         "nvcc -cudart shared …   // CMake: set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)"}},
    {"tensor-map", kError, "cuTensorMapEncode… or cuTensorMapReplaceAddress refuses its arguments.",
     Rule{"The driver checks each field; the message names the one that it would refuse.", "5.5.8 Tensor-map"},
     Hardware{
         measured,
         "The call returns CUDA_ERROR_INVALID_VALUE: an H200's driver did so in 3,107 random calls, and tinygpu in "
         "exactly these."},
     Fix{"Addresses are multiples of 16, strides too; boxes are 1 to 256; a swizzle bounds the box's first "
         "dimension in bytes."}},
};

}  // namespace tinygpu::diagnosis
