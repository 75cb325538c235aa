#include "common/tinygpu/cli/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "common/tinygpu/api/options.h"
#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/cli/program_check.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::cli {

namespace {

namespace fs = std::filesystem;

/// What may have been meant by a name that no folder of the path has: programs of that name here and where builds put
/// them, as one writes them.
std::vector<std::string> nearby(const std::string& name) {
  std::vector<fs::path> folders{".", "bin", "build", "build/bin"};
  std::error_code none;
  std::vector<fs::path> builds;
  for (const fs::directory_entry& e : fs::directory_iterator("build", none))
    if (e.is_directory(none) && e.path() != "build/bin") builds.push_back(e.path());
  std::ranges::sort(builds);
  for (const fs::path& build : builds) folders.insert(folders.end(), {build, build / "bin"});
  std::vector<std::string> all;
  for (const fs::path& folder : folders)
    if (const fs::path file = folder / name; fs::is_regular_file(file, none) && access(file.c_str(), X_OK) == 0)
      all.push_back(file.string());
  return all;
}

/// The file that execvp would start. Says so where there is none.
fs::path resolve(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, end)) / program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const std::vector<std::string> meant = nearby(program);
  fmt::print(stderr, "gen5: cannot start {}: no folder of the path has a program of this name{}\n", program,
             meant.empty() ? "; write where it is, as in ./" + program
                           : fmt::format("; did you mean {}?", fmt::join(meant, " or ")));
  throw CLI::RuntimeError(127);
}

/// What to do with a file that is no program.
std::string how_to_run(const fs::path& file) {
  const std::string ending = file.extension().string(), name = file.string();
  if (ending == ".cu" || ending == ".cpp" || ending == ".cc")
    return fmt::format(
        "it is a source, to be compiled first: nvcc -gencode 'arch=compute_100a,code=[sm_100a,compute_100a]' {} -o {}",
        name, file.stem().string());
  if (ending == ".ptx") return "it is PTX; a program has to load and launch it (cuModuleLoad)";
  if (ending == ".py")
    return fmt::format("it is a script of Python: gen5 run python3 {}, or python3 -m gen5 {}", name, name);
  return "it is not executable";
}

/// CLI11 knows of no name for what follows a prefix command.
class UsageWithProgram : public CLI::Formatter {
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    while (usage.ends_with('\n')) usage.pop_back();
    return usage + " PROGRAM [ARGS...]\n";
  }
};

}  // namespace

void take_program(CLI::App& command) {
  command.prefix_command();
  command.formatter(std::make_shared<UsageWithProgram>());
}

std::vector<std::string> program_of(const CLI::App& command) {
  std::vector<std::string> words = command.remaining();
  if (words.empty()) throw CLI::RequiredError("PROGRAM");
  if (words[0].starts_with('-')) throw CLI::ExtrasError(command.get_name(), {words[0]});
  return words;
}

void add_options(CLI::App& command, Settings& settings, Flags which) {
  for (const api::Option& o : api::option_table()) {
    if (!o.flag || (which == Flags::of_check && !o.of_check) || (which == Flags::of_debug && !o.of_debug)) continue;
    const std::string help = fmt::format("{} [{}]", o.help, o.variable);
    const char* variable = o.variable;
    if (!o.values) {
      command.add_flag_callback(
          o.flag, [&settings, variable] { settings[variable] = "1"; }, help);
      continue;
    }
    const auto set = [&settings, variable](const std::string& value) { settings[variable] = value; };
    command.add_option_function<std::string>(o.flag, set, help)
        ->type_name(o.values)
        ->check([&o](const std::string& value) {
          api::Options scratch;
          const std::string wrong = o.set(scratch, value);
          return wrong.empty() ? "" : fmt::format("{}: {}", value, wrong);
        });
  }
}

void set_environment(const std::string& name, const std::string& value) { setenv(name.c_str(), value.c_str(), 1); }

void choose_names(const Settings& settings) {
  const auto set = settings.find("GEN5_FULL_NAMES");
  const char* outside = std::getenv("GEN5_FULL_NAMES");
  api::Options options;
  for (const api::Option& o : api::option_table())
    if (o.variable == std::string_view("GEN5_FULL_NAMES"))  // a wrong value is refused by the program
      o.set(options, set != settings.end() ? set->second : outside ? outside : "");
  show_full_names(options.full_names);
}

void prepare(const std::vector<std::string>& command, const Settings& settings) {
  const fs::path libraries = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib";
  if (!fs::exists(libraries / "libcudart.so.13")) {
    fmt::print(stderr, "gen5: no libcudart.so.13 in {}\n", libraries.string());
    throw CLI::RuntimeError(1);
  }
  const fs::path program = resolve(command[0]);
  std::string why;
  constexpr uint64_t kLargestProgram = uint64_t(1) << 36;
  const auto bytes = image::read_regular_file(program, kLargestProgram, why);
  if (!bytes) {
    fmt::print(stderr, "gen5: cannot start {}: {}\n", command[0], why);
    throw CLI::RuntimeError(127);
  }
  if (access(program.c_str(), X_OK) != 0) {
    fmt::print(stderr, "gen5: cannot start {}: {}\n", command[0], how_to_run(program));
    throw CLI::RuntimeError(127);
  }
  const image::Bytes file(*bytes);
  const ProgramCheck check = check_program(file);
  if (!check.why_not.empty()) {
    fmt::print(stderr, "gen5: {} cannot run on tinygpu: {}\n", command[0], check.why_not);
    throw CLI::RuntimeError(1);
  }
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  const std::string path = set("LD_LIBRARY_PATH"), preload = set("LD_PRELOAD");
  set_environment("LD_LIBRARY_PATH", libraries.string() + (path.empty() ? "" : ":" + path));
  const auto elf = image::Elf::read(file);
  constexpr int64_t kRpath = 15;
  const bool rpath = elf && !elf->dynamic_strings(kRpath).empty();  // comes before LD_LIBRARY_PATH
  if (check.static_runtime) set_environment("GEN5_STATIC_RUNTIME", "1");
  std::string ahead = preload;
  const auto put = [&](const char* library) { ahead += (ahead.empty() ? "" : ":") + (libraries / library).string(); };
  if (rpath || check.static_runtime) {
    put("libcudart.so.13");
    put("libcuda.so.1");
  }
  if (elf && std::ranges::any_of(elf->dynamic_strings(), [](const auto& n) { return n.starts_with("libnvrtc.so."); }))
    put("libgen5_nvrtc.so");
  if (ahead != preload) set_environment("LD_PRELOAD", ahead);
  set_environment("GEN5_DEVICE", "tinygpu");
  for (const auto& [name, value] : settings) set_environment(name, value);
  choose_names(settings);
}

int become(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& a : command) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fmt::print(stderr, "gen5: cannot start {}: {}\n", command[0], std::strerror(errno));
  return 127;
}

}  // namespace tinygpu::cli
