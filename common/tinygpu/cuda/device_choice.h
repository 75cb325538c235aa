// Which runtime a program gets: this machine model, or NVIDIA's on the GPU of this computer.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tinygpu::cuda {

/// Directories to search for NVIDIA's libcudart.so.13, best first: $GEN5_CUDART (file or directory), LD_LIBRARY_PATH,
/// the toolkit's places, the wheels of a Python environment.
std::vector<std::filesystem::path> runtime_directories();
/// Directories to search for the driver's libcuda.so.1.
std::vector<std::filesystem::path> driver_directories();

/// The first of `directories` whose `library` exists and is not one of tinygpu's stand-ins.
std::optional<std::filesystem::path> find_real(const std::vector<std::filesystem::path>& directories,
                                               const std::string& library);

/// True if the driver of this computer shows a GPU of compute capability 10.x. Asks in a child process, so that nothing
/// of the driver stays behind in this one.
bool blackwell_present();

}  // namespace tinygpu::cuda
