#include "launch/hardware/gpus.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <set>
#include <string_view>

#include "launch/hardware/xml_line.hpp"

namespace holon::launch {
namespace {

// How makers' libraries name GPUs, the most native one first. GPUs that opencl shows are not cut:
// its names count anew on each platform.
constexpr std::array<std::string_view, 3> kGpuViews = {"cuda", "rsmi", "ze"};

std::vector<std::string> lines_of_topology(std::string_view xml) {
  std::vector<std::string> lines;
  while (!xml.empty()) {
    const auto length = std::min(xml.find('\n'), xml.size() - 1) + 1;
    lines.emplace_back(xml.substr(0, length));
    xml.remove_prefix(length);
  }
  return lines;
}

std::optional<std::size_t> device_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The number of the GPU on this line, in that view.
std::optional<std::size_t> gpu_on(const std::string& line, std::string_view view) {
  const auto name = xml_value(line, "name");
  if (line.find("type=\"OSDev\"") == std::string::npos || !name.is_there()) return std::nullopt;
  const auto word = name.in(line);
  return word.starts_with(view) ? device_number(word.substr(view.size())) : std::nullopt;
}

std::set<std::size_t> gpus_in(const std::vector<std::string>& lines, std::string_view view) {
  std::set<std::size_t> gpus;
  for (const auto& line : lines)
    if (const auto gpu = gpu_on(line, view)) gpus.insert(*gpu);
  return gpus;
}

// The new number of a GPU; nullopt: it was not given to this process. If devices have no numbers,
// by which the library names them, the first GPUs are meant.
std::optional<std::size_t> new_number(std::size_t gpu, const std::vector<std::string>& devices) {
  const bool all = std::all_of(devices.begin(), devices.end(), [](const auto& device) {
    return device_number(device).has_value();
  });
  if (!all) return gpu < devices.size() ? std::optional(gpu) : std::nullopt;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (device_number(devices[i]) == gpu) return i;
  return std::nullopt;
}

std::string as_number(std::string line, std::string_view view, std::size_t number) {
  const auto name = xml_value(line, "name");
  return line.replace(name.begin, name.end - name.begin, fmt::format("{}{}", view, number));
}

// Turns a GPU into a display, which is not counted.
std::string as_no_gpu(std::string line) {
  if (const auto name = xml_value(line, "name"); name.is_there())
    line.replace(name.begin, name.end - name.begin, "withheld");
  if (const auto kind = xml_value(line, "osdev_type"); kind.is_there())
    line.replace(kind.begin, kind.end - kind.begin, "1");
  return line;
}

struct OpenObject {
  std::size_t line = 0;
  bool holds_cores = false;  // where the resource graph puts the cores below it
};

// The lines at which objects end that a GPU may be put into beside cores: packages, and parts with
// memory of their own. The graph gives a slot's cores and GPUs from one of these only.
std::vector<std::size_t> ends_of_holders(const std::vector<std::string>& lines) {
  std::vector<OpenObject> open;
  std::set<std::size_t> holders;
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const std::string& line = lines[at];
    if (line.find("</object>") != std::string::npos && !open.empty()) {
      if (holders.contains(open.back().line)) ends.push_back(at);
      open.pop_back();
    }
    const auto type = xml_value(line, "type");
    if (line.find("<object ") == std::string::npos || !type.is_there()) continue;
    const auto kind = type.in(line);
    if (kind == "NUMANode" && !open.empty()) open.back().holds_cores = true;
    if (kind == "Core" || kind == "PU") {
      const auto holder = std::find_if(open.rbegin(), open.rend(),
                                       [](const OpenObject& one) { return one.holds_cores; });
      if (holder != open.rend()) holders.insert(holder->line);
    }
    if (line.find("/>") == std::string::npos)
      open.push_back({at, kind == "Package" || kind == "Machine"});
  }
  return ends;
}

void add_gpus_to(std::vector<std::string>& lines, std::size_t gpus) {
  const auto ends = ends_of_holders(lines);
  if (ends.empty()) return;
  for (std::size_t i = gpus; i-- > 0;) {  // each comes before those already there
    std::string& end = lines[ends[i * ends.size() / gpus]];
    end.insert(0, fmt::format("<object type=\"OSDev\" name=\"cuda{}\" osdev_type=\"5\"/>\n", i));
  }
}

}  // namespace

std::optional<std::vector<std::string>> visible_gpus(bool amd) {
  const char* const text = std::getenv(amd ? "ROCR_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return std::nullopt;
  std::vector<std::string> devices;
  const std::string_view all = text;
  if (all.empty() || all == "-1" || all == "NoDevFiles") return devices;
  for (std::size_t begin = 0; begin <= all.size();) {
    const auto end = std::min(all.find(',', begin), all.size());
    devices.emplace_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return devices;
}

// If a library hides GPUs that the variable does not name, hwloc numbers the others from 0.
std::string with_gpus(const std::string& xml, const std::vector<std::string>& devices) {
  std::vector<std::string> lines = lines_of_topology(xml);
  bool sees_some = false;
  for (const auto view : kGpuViews) {
    const auto seen = gpus_in(lines, view);
    sees_some = sees_some || !seen.empty();
    if (seen.size() <= devices.size()) continue;
    for (auto& line : lines)
      if (const auto gpu = gpu_on(line, view)) {
        const auto number = new_number(*gpu, devices);
        line = number ? as_number(std::move(line), view, *number) : as_no_gpu(std::move(line));
      }
  }
  if (!sees_some) add_gpus_to(lines, devices.size());
  std::string text;
  for (const auto& line : lines) text += line;
  return text;
}

}  // namespace holon::launch
