// What the CUDA API of tinygpu says beside its error code.
#pragma once
#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::diagnosis {

inline constexpr CodeInfo kApiCodes[] = {
    {"attribute-refused", kError, "cudaFuncSetAttribute asks for more dynamic shared memory than is left.",
     Rule{"Static and dynamic shared memory together are at most what the device allows a CTA that asks for it (227 "
          "KiB)."},
     Hardware{documented, "The call returns cudaErrorInvalidValue."},
     Fix{"Ask for less, or turn static arrays into dynamic memory."}},
    {"bad-option", kError, "An option in the environment (GEN5_…), or the machine profile, cannot be read.",
     Rule{"Options are read when the program first calls CUDA; a mistake there ends it."},
     Fix{"`gen5 run --help` has the options and their values, `gen5 machine` the machines."}},
    {"device-choice", kError, "The device that GEN5_DEVICE asks for is not there, or not usable.",
     Rule{"auto takes a Blackwell GPU if there is one, and tinygpu else; hardware and tinygpu take no other."},
     Fix{"Do what the message says; GEN5_DEVICE=tinygpu always works.", "GEN5_DEVICE=auto|hardware|tinygpu"}},
    {"file-not-found", kError, "A file of device code cannot be read.",
     Rule{"cuModuleLoad and cuLibraryLoadFromFile read a PTX, cubin or fatbin file."},
     Hardware{documented, "The call returns CUDA_ERROR_FILE_NOT_FOUND."},
     Fix{"Check the path, seen from the program's working directory."}},
    {"host-out-of-memory", kError, "The host has no memory left for the machine model.",
     Rule{"Device memory and all state of the SMs are memory of the host."},
     Fix{"Run a smaller problem, or fewer host threads (gen5 run --threads)."}},
    {"internal", kError, "tinygpu failed in a way that nobody has foreseen.",
     Rule{"That is a defect of tinygpu, not of the program."},
     Fix{"Please report it, with the program and the message."}},
    {"invalid-copy", kError, "A copy whose source or destination is not such memory all along.",
     Rule{"The whole range of both sides lies in one allocation, or in memory of the process."},
     Hardware{documented, "The call returns cudaErrorInvalidValue."},
     Fix{"Compare size, pitch and offsets with the allocation; check that pointers and kind are not swapped."}},
    {"invalid-fill", kError, "cudaMemset past the end of an allocation.",
     Rule{"The whole range lies in one allocation."}, Hardware{documented, "The call returns cudaErrorInvalidValue."},
     Fix{"Sizes of cudaMemset are bytes, those of cuMemsetD16 and D32 elements."}},
    {"invalid-free", kError, "cudaFree, or its like, of what is no live allocation of that kind.",
     Rule{"A pointer is freed once, as it was returned, by the call that belongs to its allocation."},
     Hardware{documented, "The call returns cudaErrorInvalidValue."},
     Fix{"The message says what lies at the address, or lay there."}},
    {"invalid-host-memory", kError, "cudaHostRegister of memory that the process does not have, or cannot write.",
     Rule{"The range belongs to the process, all of it."},
     Hardware{documented, "The call returns cudaErrorInvalidValue."},
     Fix{"Register whole, live blocks of memory that are not read-only."}},
    {"kernel-not-decoded", kError, "A kernel's PTX is legal, and tinygpu cannot make a program of it.",
     Rule{"Each instruction is decoded once, before the first launch."},
     Fix{"The message names the instruction; `gen5 isa FAMILY` lists what there is."}},
    {"launch-attribute", kError, "A launch attribute that tinygpu does not have.",
     Rule{"What an attribute asks for is done, or the launch is refused."}, Fix{"Leave the attribute out on tinygpu."}},
    {"launch-refused", kError,
     "A launch that no device could execute: grid, block, cluster, shared memory, registers or parameters.",
     Rule{"The limits are those of the device, of the kernel (__launch_bounds__, __cluster_dims__) and of its "
          "attributes."},
     Hardware{documented, "The launch returns an error code, and the kernel does not run."},
     Fix{"The message has the number and its limit. Above 48 KiB of dynamic shared memory the kernel needs the "
         "attribute.",
         "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);"}},
    {"memory-leak", kWarning, "The program ends with device memory allocated.",
     Rule{"The end of a program frees everything; one that allocates again and again runs out. Looked for with "
          "--memory."},
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
     Fix{"Several GPUs, mipmaps, layered and cube textures, surfaces and others are not there. On a GPU the program "
         "may be "
         "right."}},
    {"out-of-memory", kError, "Device memory is used up.", Rule{"A machine has the memory that its profile says."},
     Hardware{documented, "The call returns cudaErrorMemoryAllocation."},
     Fix{"Free what is not needed; the message has the numbers."}},
    {"private-interface", kError, "The program asks for a private table of NVIDIA's driver.",
     Rule{"A CUDA runtime that is linked in statically talks to the driver by tables that are not public."},
     Fix{"Link the runtime as a shared library.",
         "nvcc -cudart shared …   // CMake: set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)"}},
    {"tensor-map", kError, "cuTensorMapEncode… or cuTensorMapReplaceAddress refuses its arguments.",
     Rule{"The driver checks each field; the message names the one that it would refuse.", "5.5.8 Tensor-map"},
     Hardware{
         measured,
         "The call returns CUDA_ERROR_INVALID_VALUE: as an H200's driver did in 3,107 random calls, the same ones."},
     Fix{"Addresses are multiples of 16, strides too; boxes are 1 to 256; a swizzle bounds the box's first "
         "dimension in bytes."}},
};

}  // namespace tinygpu::diagnosis
