#include "client/find_instance.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "transport/endpoint.hpp"
#include "transport/supervisor_lock.hpp"

namespace holon::client {
namespace {

namespace fs = std::filesystem;

constexpr const char* kForAll = "/run/holon";
// The file in which an instance describes itself in its runtime directory.
constexpr const char* kWritten = "instance.json";

bool is_ours(const fs::path& folder) {
  struct stat info {};
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == getuid();
}

// The root instance described there; nullopt for a child.
std::optional<RunningInstance> written_in(const fs::path& folder) {
  try {
    std::ifstream in(folder / kWritten, std::ios::binary);
    const auto options = nlohmann::json::parse(in);
    if (!options.value("parent_uri", "").empty()) return std::nullopt;
    const auto& start = options.at("start");
    RunningInstance root;
    root.name = start.value("name", "");
    root.state_dir = start.value("state_dir", "");
    const std::string resources = start.value("resources", "");
    const bool keeps_declared = start.value("keeps_declared", false);
    root.is_machine = (resources.empty() && !keeps_declared) || resources == "hwloc";
    return root;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

// The root running there; nullopt for a directory left behind by a crash.
std::optional<RunningInstance> root_in(const fs::path& folder) {
  auto root = written_in(folder);
  const auto uri = transport::ipc_uri(folder.string(), "broker");
  if (!root || !uri) return std::nullopt;
  root->uri = *uri;
  const auto state = transport::probe_ipc(*uri);
  root->listens = state && *state == transport::IpcState::alive;
  if (!root->listens && !transport::supervisor_lives(folder.string())) return std::nullopt;
  return root;
}

// The address of the broker that an agent serves; "": the process is no agent.
std::string served_by(const fs::path& process) {
  struct stat info {};
  if (lstat(process.c_str(), &info) != 0 || info.st_uid != getuid()) return {};
  std::ifstream in(process / "cmdline", std::ios::binary);
  bool is_next = false;
  for (std::string word; std::getline(in, word, '\0'); is_next = word == "--broker-uri")
    if (is_next) return word;
  return {};
}

fs::path runtime_dir_of(const std::string& uri) {
  constexpr std::string_view kScheme = "ipc://";
  if (!uri.starts_with(kScheme)) return {};
  return fs::path(uri.substr(kScheme.size())).parent_path();
}

// Does an agent run whose instance's runtime directory was removed? The supervisor makes it again
// within a second, and what stands there meanwhile says nothing. `uri`: only this instance; "":
// any.
bool is_to_be_restored(const std::string& uri) {
  std::error_code error, none;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error)) {
    const std::string name = process->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string served = served_by(process->path());
    if (served.empty() || (!uri.empty() && served != uri)) continue;
    const fs::path dir = runtime_dir_of(served);
    if (!dir.empty() && !fs::exists(dir / kWritten, none)) return true;
  }
  return false;
}

// The roots found now, or as soon as a removed directory is there again.
std::vector<RunningInstance> awaited_roots() {
  constexpr int kTries = 60;
  constexpr useconds_t kBetweenTries = 50'000;
  auto roots = running_roots();
  for (int i = 0; roots.empty() && i < kTries; ++i) {
    // Asked before the look: a directory that came back between the two would be missed by both.
    const bool is_awaited = is_to_be_restored("");
    roots = running_roots();
    if (!is_awaited) break;
    if (roots.empty()) usleep(kBetweenTries);
  }
  return roots;
}

// Addresses of instances for all users of the machine (`holon start --system`). Their descriptions
// are in files for their own account.
std::vector<std::string> open_to_all() {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(kForAll, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto uri = transport::ipc_uri(entry->path().string(), "broker");
    const auto state = uri ? transport::probe_ipc(*uri) : tl::unexpected<Error>(uri.error());
    if (state && *state == transport::IpcState::alive) found.push_back(*uri);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Is it another user's instance that serves this user too? Its lock cannot be looked at: it counts
// as there until the instance has ended in order.
bool is_anothers(const fs::path& dir) {
  const std::string lock = (dir / transport::SupervisorLock::kFile).string();
  return access(lock.c_str(), F_OK) == 0 && access(lock.c_str(), R_OK) != 0;
}

}  // namespace

std::vector<RunningInstance> running_roots() {
  std::vector<RunningInstance> roots;
  for (const auto& base : transport::runtime_bases()) {
    std::error_code error;
    for (fs::directory_iterator entry(base, error), end; !error && entry != end;
         entry.increment(error)) {
      const bool named = entry->path().filename().string().starts_with("holon-");
      if (!named || !is_ours(entry->path())) continue;
      if (auto root = root_in(entry->path())) roots.push_back(std::move(*root));
    }
  }
  std::sort(roots.begin(), roots.end(), [](const auto& a, const auto& b) { return a.uri < b.uri; });
  return roots;
}

std::string describe_briefly(const RunningInstance& instance) {
  return instance.name + ", state in " + instance.state_dir;
}

Result<std::string> find_instance(const Describe& describe) {
  if (const char* uri = std::getenv("HOLON_URI"); uri != nullptr && *uri != '\0') return uri;
  const auto roots = awaited_roots();
  if (roots.size() == 1) return roots.front().uri;
  if (const auto for_all = open_to_all(); roots.empty() && !for_all.empty()) {
    if (for_all.size() == 1) return for_all.front();
    return fail(Errc::disconnected,
                fmt::format("{} instances for all users run here; say which one by HOLON_URI, such "
                            "as {}",
                            for_all.size(), for_all.front()));
  }
  if (roots.empty())
    return fail(Errc::disconnected,
                "no instance runs here; `holon start` makes one, HOLON_URI names one elsewhere");
  std::string list;
  for (const auto& root : roots)
    list += fmt::format("\n  HOLON_URI={}  # {}", root.uri, describe(root));
  return fail(Errc::disconnected,
              fmt::format("{} instances run here; say which one:{}", roots.size(), list));
}

bool may_come_back(const std::string& uri) {
  const fs::path dir = runtime_dir_of(uri);
  if (dir.empty()) return false;
  // The lock is looked at again after the files: a supervisor that makes its directory again has
  // its lock before it writes them.
  const auto lives = [&] { return transport::supervisor_lives(dir.string()); };
  return lives() || is_to_be_restored(uri) || lives() || is_anothers(dir);
}

}  // namespace holon::client
