// Memory and files of the host that a caller named: looked at before they are touched.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tinygpu::image {

/// True if this process can read (or write) all of [p, p + size). May bring the pages in, as touching them would.
bool host_accessible(const void* p, size_t size, bool write);

/// Length of the NUL-terminated text at `p`; nothing if memory ends before the text does.
std::optional<size_t> text_length(const char* p);

/// True if memory at `p` begins with these bytes. Reads no byte behind the first that differs, nor where none is.
bool begins_with(const void* p, const void* bytes, size_t size);

/// The bytes of a regular file. Nothing, and a reason, if it is something else (a folder, a device, a pipe), has more
/// than `most` bytes, or cannot be read.
std::optional<std::vector<uint8_t>> read_regular_file(const std::string& path, uint64_t most, std::string& why);

/// A source that a program's line information names, so it may be anything: only regular files, up to 8 MiB.
std::optional<std::string> read_source(const std::string& path);

}  // namespace tinygpu::image
