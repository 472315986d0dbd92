#include "cli/find_instance.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "cli/show/units.hpp"
#include "instance/clock.hpp"
#include "instance/options.hpp"
#include "instance/resources/resources.hpp"
#include "msg/instance.hpp"
#include "transport/blocking_client.hpp"
#include "transport/endpoint.hpp"
#include "transport/supervisor_lock.hpp"

namespace holon::cli {
namespace {

namespace fs = std::filesystem;

bool is_ours(const fs::path& folder) {
  struct stat info {};
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == getuid();
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A root; nothing for a child or a directory left behind by a crash.
std::optional<RunningInstance> root_in(const fs::path& folder) {
  const auto options = instance::parse_options(read_file(folder / "instance.json"));
  if (!options || !options->parent_uri.empty()) return std::nullopt;
  const auto uri = transport::ipc_uri(folder.string(), "broker");
  if (!uri) return std::nullopt;
  const auto state = transport::probe_ipc(*uri);
  const bool listens = state && *state == transport::IpcState::alive;
  if (!listens && !transport::supervisor_lives(folder.string())) return std::nullopt;
  const std::string& resources = options->start.resources;
  return RunningInstance{*uri, options->start.name, options->start.state_dir, listens,
                         resources.empty() || resources == instance::kThisMachine};
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

std::string describe(const RunningInstance& root) {
  constexpr Duration kPatience = 500;
  std::string text = root.name;
  auto client = transport::BlockingClient::connect(root.uri, kPatience);
  const auto node = client
                        ? client->call<msg::TreeNode>("status", msg::StatusRequest{}, "", kPatience)
                        : tl::unexpected<Error>(client.error());
  if (node)
    text += fmt::format(", pid {}, since {}, {} job{} running", node->pid,
                        show_time(node->t_started, instance::wall_clock_ms()), node->running,
                        node->running == 1 ? "" : "s");
  else
    text += ", does not answer just now";
  return text + ", state in " + root.state_dir;
}

Result<std::string> find_instance() {
  if (const char* uri = std::getenv("HOLON_URI"); uri != nullptr && *uri != '\0') return uri;
  const auto roots = running_roots();
  if (roots.size() == 1) return roots.front().uri;
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
  constexpr std::string_view kScheme = "ipc://";
  if (!uri.starts_with(kScheme)) return false;
  return transport::supervisor_lives(fs::path(uri.substr(kScheme.size())).parent_path().string());
}

}  // namespace holon::cli
