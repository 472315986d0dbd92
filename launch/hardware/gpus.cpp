#include "launch/hardware/gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <set>
#include <string_view>

#include "launch/hardware/xml_line.hpp"

namespace holon::launch {
namespace {

struct DeviceLibrary {
  Maker maker;
  std::string_view name;
  std::string_view view;  // as hwloc names its devices
  const char* variable;
};
// What opencl shows is not cut: its names count on each platform anew.
constexpr std::array<DeviceLibrary, 3> kLibraries = {
    {{Maker::nvidia, "nvidia", "cuda", "CUDA_VISIBLE_DEVICES"},
     {Maker::amd, "amd", "rsmi", "ROCR_VISIBLE_DEVICES"},
     {Maker::intel, "intel", "ze", "ZE_AFFINITY_MASK"}}};

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

void add_gpus_to(std::vector<std::string>& lines, std::string_view view, std::size_t gpus) {
  const auto ends = ends_of_holders(lines);
  if (ends.empty()) return;
  for (std::size_t i = gpus; i-- > 0;) {  // each comes before those already there
    std::string& end = lines[ends[i * ends.size() / gpus]];
    end.insert(0,
               fmt::format("<object type=\"OSDev\" name=\"{}{}\" osdev_type=\"5\"/>\n", view, i));
  }
}

Devices devices_in(std::string_view all) {
  Devices devices;
  if (all.empty() || all == "-1" || all == "NoDevFiles") return devices;
  for (std::size_t begin = 0; begin <= all.size();) {
    const auto end = std::min(all.find(',', begin), all.size());
    devices.emplace_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return devices;
}

// Where a library hides what the variable does not name, hwloc sees what is left with numbers from
// 0 on.
void cut(std::vector<std::string>& lines, std::string_view view, const Devices& devices) {
  const auto seen = gpus_in(lines, view);
  if (seen.empty()) return add_gpus_to(lines, view, devices.size());
  if (seen.size() <= devices.size()) return;
  for (auto& line : lines)
    if (const auto gpu = gpu_on(line, view)) {
      const auto number = new_number(*gpu, devices);
      line = number ? as_number(std::move(line), view, *number) : as_no_gpu(std::move(line));
    }
}

}  // namespace

std::string_view name_of(Maker maker) {
  return kLibraries[static_cast<std::size_t>(maker)].name;
}

VisibleGpus visible_gpus(const std::set<Maker>& makers) {
  VisibleGpus visible;
  for (const DeviceLibrary& library : kLibraries) {
    const bool is_here =
        makers.empty() ? library.maker == Maker::nvidia : makers.contains(library.maker);
    const char* const text = is_here ? std::getenv(library.variable) : nullptr;
    if (text != nullptr) visible[library.maker] = devices_in(text);
  }
  return visible;
}

std::string with_gpus(const std::string& xml, const VisibleGpus& visible) {
  std::vector<std::string> lines = lines_of_topology(xml);
  for (const auto& [maker, devices] : visible)
    cut(lines, kLibraries[static_cast<std::size_t>(maker)].view, devices);
  std::string text;
  for (const auto& line : lines) text += line;
  return text;
}

Devices names_of_gpus(const std::vector<GpuOfMaker>& gpus, const VisibleGpus& visible) {
  std::set<Maker> makers;
  for (const auto& gpu : gpus) makers.insert(gpu.maker);
  const bool is_plain = makers.empty() || (makers.size() == 1 && !makers.contains(Maker::intel));
  if (is_plain) {
    const auto own = makers.empty() ? visible.begin() : visible.find(*makers.begin());
    return own == visible.end() ? Devices() : own->second;
  }
  Devices names;
  for (const auto& [maker, index] : gpus) {
    const auto own = visible.find(maker);
    const bool is_named = own != visible.end() && index < own->second.size();
    names.push_back(fmt::format("{}:{}", name_of(maker),
                                is_named ? own->second[index] : fmt::to_string(index)));
  }
  return names;
}

NamedGpu gpu_of_name(const std::string& name, Maker usual) {
  for (const DeviceLibrary& library : kLibraries)
    if (name.starts_with(library.name) && name.size() > library.name.size() &&
        name[library.name.size()] == ':')
      return {library.maker, name.substr(library.name.size() + 1)};
  return {usual, name};
}

}  // namespace holon::launch
