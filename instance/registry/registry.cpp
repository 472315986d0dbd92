#include "instance/registry/registry.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "instance/basics/clock.hpp"
#include "instance/basics/options.hpp"
#include "instance/process/state_claim.hpp"
#include "transport/endpoint.hpp"

namespace holon::instance {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Registered, state_dir, folder, name, host, started,
                                                ended)

namespace {

namespace files = std::filesystem;

constexpr const char* kEnding = ".json";

std::string word_of_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string folder_of_registry(const std::string& state_home) {
  return state_home + "/holon/instances";
}

// nullopt: the file is no entry; another version of this program may have written it.
std::optional<Registered> entry_in(const files::path& file) {
  try {
    std::ifstream in(file, std::ios::binary);
    auto entry = nlohmann::json::parse(in).get<Registered>();
    if (!entry.state_dir.starts_with('/')) return std::nullopt;
    return entry;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

// Writes under a name that nobody else uses, then renames: readers find all of it or nothing.
void replace_file(const std::string& file, const std::string& text) {
  const std::string draft = fmt::format("{}.{}.{}", file, own_host_name(), getpid());
  std::ofstream out(draft, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  std::error_code ignored;
  if (out) files::rename(draft, file, ignored);
  if (!out || ignored) files::remove(draft, ignored);
}

// Reads all entries; those for which `goes` is true are left out, and their files removed.
std::vector<Registered> read_files(const std::string& folder,
                                   const std::function<bool(const Registered&)>& goes) {
  std::vector<Registered> found;
  std::vector<files::path> gone;
  std::error_code error, ignored;
  for (files::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (file->path().extension() != kEnding) continue;
    auto entry = entry_in(file->path());
    if (!entry) continue;
    if (goes(*entry))
      gone.push_back(file->path());
    else
      found.push_back(std::move(*entry));
  }
  for (const auto& file : gone) files::remove(file, ignored);
  return found;
}

// State directories in the usual place that no file of the registry names.
std::vector<Registered> unregistered(const std::string& folder, const std::string& host,
                                     const std::vector<Registered>& known) {
  std::vector<Registered> found;
  std::error_code error;
  for (files::directory_iterator dir(folder, error), end; !error && dir != end;
       dir.increment(error)) {
    const std::string name = dir->path().string();
    const auto is_it = [&](const Registered& entry) { return entry.state_dir == name; };
    if (!is_state_dir(name) || std::any_of(known.begin(), known.end(), is_it)) continue;
    Registered entry;
    entry.state_dir = name;
    entry.host = host;
    found.push_back(std::move(entry));
  }
  return found;
}

}  // namespace

Result<std::string> state_home() {
  std::string home = word_of_environment("XDG_STATE_HOME");
  if (home.empty() && !word_of_environment("HOME").empty())
    home = word_of_environment("HOME") + "/.local/state";
  if (!home.empty()) return home;
  // Others know this name in /tmp, too: the folder must be this user's.
  return transport::make_runtime_dir("/tmp/holon-state-" + std::to_string(getuid()));
}

std::string default_state_dirs(const std::string& state_home) {
  return state_home + "/holon";
}

std::string own_host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

Registration Registration::of(const StartOptions& options, const std::string& mark) {
  Registration made;
  const bool is_name = !mark.empty() && mark.find('/') == std::string::npos;
  const auto home = state_home();
  if (options.grant || options.system || !is_name || !home) return made;
  std::error_code ignored;
  made.file_ = folder_of_registry(*home) + "/" + mark + kEnding;
  made.entry_ = {options.state_dir, files::current_path(ignored).string(),
                 options.name,      own_host_name(),
                 wall_clock_ms(),   0};
  made.write();
  return made;
}

void Registration::write() const {
  if (file_.empty()) return;
  const mode_t usual = umask(077);
  std::error_code ignored;
  files::create_directories(files::path(file_).parent_path(), ignored);
  // A name that is not UTF-8 is shown as well as possible.
  replace_file(
      file_,
      nlohmann::json(entry_).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  umask(usual);
}

void Registration::end(Time now) {
  entry_.ended = now;
  std::error_code ignored;
  if (!file_.empty() && files::exists(entry_.state_dir, ignored)) write();
}

std::vector<Registered> read_registry() {
  const auto home = state_home();
  if (!home) return {};
  const std::string host = own_host_name();
  const auto has_gone = [&host](const Registered& entry) {
    std::error_code ignored;
    const auto there = files::status(entry.state_dir, ignored);
    return there.type() == files::file_type::not_found && entry.host == host;
  };
  std::vector<Registered> found = read_files(folder_of_registry(*home), has_gone);
  for (auto& entry : unregistered(default_state_dirs(*home), host, found))
    found.push_back(std::move(entry));
  std::sort(found.begin(), found.end(), [](const Registered& a, const Registered& b) {
    return std::tie(b.started, a.state_dir) < std::tie(a.started, b.state_dir);
  });
  return found;
}

void forget(const Registered& entry) {
  if (const auto home = state_home())
    (void)read_files(folder_of_registry(*home), [&entry](const Registered& other) {
      return other.state_dir == entry.state_dir && other.host == entry.host;
    });
}

Stand stand_of(const Registered& entry) {
  std::error_code ignored;
  if (!files::is_directory(entry.state_dir, ignored)) return Stand::unknown;
  if (is_claimed(entry.state_dir)) return Stand::runs;
  return entry.ended == 0 && entry.host != own_host_name() ? Stand::unknown : Stand::over;
}

bool is_state_dir(const std::string& folder) {
  std::error_code ignored;
  return files::exists(folder + "/instance.id", ignored) ||
         files::exists(folder + "/journal.db", ignored);
}

}  // namespace holon::instance
