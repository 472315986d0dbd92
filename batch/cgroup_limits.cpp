#include "batch/cgroup_limits.hpp"

#include <algorithm>
#include <vector>

#include "batch/hosts.hpp"

namespace holon::batch {
namespace {

// v1 says "no limit" of memory by the largest number of whole pages.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62U;

// A mounted hierarchy: its folder `root` is seen at `point`.
struct Mount {
  std::string root, point;
};

// The text unescaped: "\040" is a blank in mountinfo.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// `controller`: that of v1; "": the v2 hierarchy.
std::optional<Mount> mount_of(std::string_view mountinfo, std::string_view controller) {
  for (const auto line : lines_of(mountinfo)) {
    const auto words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    const std::string_view type = dash[1], options = dash[3];
    const bool fits =
        controller.empty() ? type == "cgroup2" : type == "cgroup" && has_word(options, controller);
    if (fits) return Mount{unescaped(words[3]), unescaped(words[4])};
  }
  return std::nullopt;
}

// The path of this process in that hierarchy.
std::optional<std::string> path_in(std::string_view cgroup, std::string_view controller) {
  for (const auto line : lines_of(cgroup)) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_word(controllers, controller))
      return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

// The process's own folder in the hierarchy first, then those above it.
std::vector<std::string> folders(const Environment& environment, std::string_view controller) {
  const auto mountinfo = environment.read_file("/proc/self/mountinfo");
  const auto cgroup = environment.read_file("/proc/self/cgroup");
  if (!mountinfo || !cgroup) return {};
  const auto mount = mount_of(*mountinfo, controller);
  auto path = path_in(*cgroup, controller);
  if (!mount || !path) return {};
  if (mount->root != "/" && (*path + "/").starts_with(mount->root + "/"))
    path = path->substr(mount->root.size());
  // A path outside of the visible part ("/../..") counts as its root.
  if (path->find("..") != path->npos) path = "";
  std::vector<std::string> all;
  for (std::string at = *path; !at.empty() && at != "/"; at = at.substr(0, at.rfind('/')))
    all.push_back(mount->point + at);
  all.push_back(mount->point);
  return all;
}

std::optional<std::string> first_line(const Environment& environment, const std::string& file) {
  const auto text = environment.read_file(file);
  if (!text) return std::nullopt;
  const auto lines = lines_of(*text);
  return lines.empty() ? std::nullopt : std::optional<std::string>(lines[0]);
}

void limit_cpus(CgroupLimits& limits, std::string_view quota, std::string_view period,
                const std::string& file) {
  const auto used = whole_number(quota), of = whole_number(period);
  if (!used || !of || *of == 0) return;  // "max" and -1 are no limits
  const double cpus = static_cast<double>(*used) / static_cast<double>(*of);
  if (limits.cpus && *limits.cpus <= cpus) return;
  limits.cpus = cpus;
  limits.cpus_from = file;
}

void limit_memory(CgroupLimits& limits, const std::optional<std::string>& text,
                  const std::string& file) {
  const auto bytes = whole_number(text.value_or(""));
  if (!bytes || *bytes >= kNoLimit || (limits.memory && *limits.memory <= *bytes)) return;
  limits.memory = *bytes;
  limits.memory_from = file;
}

}  // namespace

std::optional<std::uint64_t> CgroupLimits::cores() const {
  if (!cpus) return std::nullopt;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(*cpus + 1e-9));
}

CgroupLimits find_cgroup_limits(const Environment& environment) {
  CgroupLimits limits;
  for (const auto& folder : folders(environment, "")) {
    const auto cpu = first_line(environment, folder + "/cpu.max");
    const auto words = words_of(cpu ? std::string_view(*cpu) : std::string_view());
    if (words.size() == 2) limit_cpus(limits, words[0], words[1], folder + "/cpu.max");
    limit_memory(limits, first_line(environment, folder + "/memory.max"), folder + "/memory.max");
  }
  for (const auto& folder : folders(environment, "cpu")) {
    const auto quota = first_line(environment, folder + "/cpu.cfs_quota_us");
    const auto period = first_line(environment, folder + "/cpu.cfs_period_us");
    if (quota && period) limit_cpus(limits, *quota, *period, folder + "/cpu.cfs_quota_us");
  }
  for (const auto& folder : folders(environment, "memory")) {
    const std::string file = folder + "/memory.limit_in_bytes";
    limit_memory(limits, first_line(environment, file), file);
  }
  return limits;
}

}  // namespace holon::batch
