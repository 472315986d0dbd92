#include <fmt/core.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "cli/doctor/finding.hpp"
#include "transport/endpoint.hpp"

namespace holon::cli {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

struct FolderKind {
  unsigned long magic;
  const char* name;
};
// Magic numbers from statfs(2) and the headers of the file systems.
constexpr std::array<FolderKind, 11> kShared = {{{0x6969, "NFS"},
                                                 {0x0BD00BD0, "Lustre"},
                                                 {0x47504653, "GPFS"},
                                                 {0x19830326, "BeeGFS"},
                                                 {0x00C36400, "CephFS"},
                                                 {0xAAD7AAEA, "PanFS"},
                                                 {0xFF534D42, "CIFS"},
                                                 {0xFE534D42, "SMB"},
                                                 {0x5346414F, "AFS"},
                                                 {0x20030528, "OrangeFS"},
                                                 {0x65735546, "FUSE"}}};

// The kind of a file system that other hosts may share; nullptr: it is this host's alone.
const char* shared_kind(const std::string& folder) {
  struct statfs about {};
  if (statfs(folder.c_str(), &about) != 0) return nullptr;
  const auto magic = static_cast<unsigned long>(about.f_type) & 0xFFFFFFFFUL;
  const auto* const found = std::find_if(
      kShared.begin(), kShared.end(), [&](const FolderKind& kind) { return kind.magic == magic; });
  return found == kShared.end() ? nullptr : found->name;
}

// Makes a file in the folder and removes it: permissions do not show a read-only or full file
// system.
Status try_to_write(const std::string& folder) {
  std::string name = folder + "/.holon-doctor-XXXXXX";
  const int fd = mkstemp(name.data());
  if (fd < 0) return system_error("", folder);
  const bool written = write(fd, "holon\n", 6) == 6;
  auto failed = written ? Status() : Status(system_error("", folder));
  close(fd);
  unlink(name.c_str());
  return failed;
}

Finding runtime_folder() {
  const auto folder = transport::make_runtime_dir();
  if (!folder)
    return {
        "runtime folder", State::failed, to_string(folder.error()),
        "XDG_RUNTIME_DIR or TMPDIR must name a short folder of yours on this host, such as /tmp"};
  const char* const kind = shared_kind(*folder);
  std::error_code ignored;
  fs::remove_all(*folder, ignored);
  const std::string parent = fs::path(*folder).parent_path();
  if (kind == nullptr) return {"runtime folder", State::ok, parent, ""};
  return {"runtime folder", State::warning,
          fmt::format("{}, {}: sockets stand in it", parent, kind),
          "XDG_RUNTIME_DIR or TMPDIR: a folder of this host"};
}

// Checks the default folder of journals; it is made when an instance is.
Finding state_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  std::string folder = variable("XDG_STATE_HOME");
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") + "/.local/state";
  if (folder.empty()) folder = "/tmp";
  std::error_code ignored;
  fs::path there = folder;
  while (!fs::exists(there, ignored) && there.has_relative_path()) there = there.parent_path();
  if (auto written = try_to_write(there); !written)
    return {"state folder", State::failed, to_string(written.error()),
            "holon start --state-dir DIR, or XDG_STATE_HOME: a folder that can be written"};
  const char* const kind = shared_kind(there);
  if (kind == nullptr) return {"state folder", State::ok, folder + ", of this host", ""};
  return {
      "state folder", State::warning, fmt::format("{}, {}: shared with other hosts", folder, kind),
      "the journal waits for it at every commit; --state-dir on this host's disk is faster, and "
      "gone with the job where that is cleaned"};
}

}  // namespace

Findings look_at_folders() {
  return {runtime_folder(), state_folder()};
}

}  // namespace holon::cli
