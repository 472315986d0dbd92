// hwloc XML in.
//
// hwloc hangs NUMA nodes beside the tree, as memory children of a package (or a group, or the
// machine). Here a NUMA node becomes a vertex in the tree: the first one of an object takes the
// object's cores below it, so that "cores and memory near each other" is a question about one
// subtree. The Fluxion flavour keeps hwloc's own order and places, vertex for vertex.
#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/gpu_devices.hpp"
#include "resource/formats/readers.hpp"
#include "resource/formats/xml.hpp"

namespace holon::resource {
namespace {

constexpr std::array kWords{"node",    "group",   "socket", "numanode", "memory", "L1cache",
                            "L2cache", "L3cache", "core",   "pu",       "gpu",    "storage"};
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, Destroy>;

Result<HwlocTopology> load(std::string_view xml, hwloc_type_filter_e caches,
                           const std::string& where) {
  const auto bad = [&](std::string what) { return fail(Errc::invalid_argument, what, where); };
  if (xml.size() > INT32_MAX) return bad("more than 2 GiB of XML");
  if (xml.size() > kMaxXmlBytes)
    return bad(fmt::format("{} bytes; at most {} are accepted", xml.size(), kMaxXmlBytes));
  if (xml_nested_too_deep(xml)) {
    return bad(fmt::format("elements nested more than {} deep", kMaxXmlDepth));
  }
  if (const auto flaw = hwloc_xml_flaw(xml); !flaw.empty()) {
    return bad("not a topology as hwloc 2 exports it: " + flaw);
  }
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(Errc::system, "hwloc cannot start", where);
  HwlocTopology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_cache_types_filter(raw, caches);
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  const std::string text(xml);  // hwloc wants its end marked by a NUL
  const bool ok =
      hwloc_topology_set_xmlbuffer(raw, text.c_str(), static_cast<int>(text.size() + 1)) == 0 &&
      hwloc_topology_load(raw) == 0;
  if (!ok) return bad("not a topology as hwloc 2 exports it");
  return topology;
}

// "fluke007" -> "fluke" and 7; without digits, or with more than an id can have, the id is -1.
struct HostName {
  std::string basename;
  std::int64_t id = -1;
  bool too_big = false;
};

HostName split(const std::string& host) {
  const auto last = host.find_last_not_of("0123456789");
  HostName name{host.substr(0, last == host.npos ? 0 : last + 1), -1, false};
  const auto code =
      std::from_chars(host.data() + name.basename.size(), host.data() + host.size(), name.id).ec;
  name.too_big = code == std::errc::result_out_of_range;
  if (name.basename.empty()) name.basename = host;
  return name;
}

std::optional<GpuView> gpu_of(hwloc_obj_t object) {
  if (object->type != HWLOC_OBJ_OS_DEVICE || object->attr == nullptr || object->name == nullptr) {
    return std::nullopt;
  }
  const auto kind = object->attr->osdev.type;
  return gpu_view(object->name, kind == HWLOC_OBJ_OSDEV_COPROC, kind == HWLOC_OBJ_OSDEV_GPU,
                  static_cast<std::int64_t>(object->logical_index));
}

class Walker {
 public:
  Walker(GraphSpec& spec, const HwlocOptions& options) : spec_(spec), options_(options) {}

  // Adds the host's vertices below `root`.
  Status walk(const HwlocTopology& topology, std::uint32_t root, std::int32_t rank,
              std::string host) {
    topology_ = topology.get();
    host_ = std::move(host);
    rank_ = rank;
    const auto machine = hwloc_get_root_obj(topology_);
    if (host_.empty()) {
      const char* given = hwloc_obj_get_info_by_name(machine, "HostName");
      if (given != nullptr) host_ = given;
      if (host_.empty() && !options_.as_fluxion) host_ = fmt::format("node{}", rank);
    }
    // Each thread is a core where the kernel does not say which threads share one.
    core_ = options_.as_fluxion || hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_CORE) > 0
                ? HWLOC_OBJ_CORE
                : HWLOC_OBJ_PU;
    if (!options_.as_fluxion) look_for_gpus();
    visit(machine, root);
    return std::move(status_);
  }

 private:
  bool allowed(std::string_view word) const {
    return (options_.as_fluxion && options_.allow.empty()) ||
           std::ranges::find(options_.allow, word) != options_.allow.end();
  }

  // The card that an OS device is on; null: unknown.
  static hwloc_obj_t card_of(hwloc_obj_t device) {
    const auto above = device->parent;
    return above != nullptr && above->type == HWLOC_OBJ_PCI_DEVICE ? above : nullptr;
  }

  void look_for_gpus() {
    std::vector<SeenGpu> seen;
    std::vector<hwloc_obj_t> devices;
    gpus_.clear();
    for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_osdev(topology_, o)) != nullptr;) {
      const auto gpu = gpu_of(o);
      if (!gpu) continue;
      seen.push_back({*gpu, card_of(o)});
      devices.push_back(o);
    }
    const auto numbers = number_gpus(seen);
    for (std::size_t i = 0; i < devices.size(); ++i)
      if (numbers[i]) gpus_.emplace(devices[i], *numbers[i]);
  }

  std::uint32_t add(std::string_view type, std::int64_t id, std::uint32_t above, Amount size = 1) {
    // Fluxion numbers the nodes if no rank was given, and leaves what is below them at -1.
    return spec_.add(type, id, above, options_.as_fluxion ? -1 : rank_, size);
  }

  void visit(hwloc_obj_t object, std::uint32_t above) {
    // Memory and devices that are near to one core alone stand around that core, not in it: who
    // takes the core takes what is in it.
    const bool is_core = !options_.as_fluxion && object->type == core_;
    const auto outer = is_core ? holder_of(object, above) : above;
    const auto own = vertex_of(object, outer);
    if (options_.as_fluxion) {
      for (hwloc_obj_t c = nullptr; (c = hwloc_get_next_child(topology_, object, c)) != nullptr;) {
        visit(c, own);
      }
      return;
    }
    const auto inner = is_core ? own : holder_of(object, own);
    for (auto c = object->first_child; c != nullptr; c = c->next_sibling) visit(c, inner);
    for (auto c = object->io_first_child; c != nullptr; c = c->next_sibling)
      visit(c, is_core ? outer : inner);
  }

  // The memory that this object is near to; the vertex below which what is in the object goes.
  std::uint32_t holder_of(hwloc_obj_t object, std::uint32_t above) {
    auto inner = above;
    for (auto numa = object->memory_first_child; numa != nullptr; numa = numa->next_sibling) {
      const auto holder = memory_of(numa, above);
      if (numa == object->memory_first_child) inner = holder;
    }
    return inner;
  }

  // The vertex below which the parts near this NUMA node go.
  std::uint32_t memory_of(hwloc_obj_t numa, std::uint32_t above) {
    while (numa->type != HWLOC_OBJ_NUMANODE && numa->memory_first_child != nullptr) {
      numa = numa->memory_first_child;  // a memory-side cache stands in front of it
    }
    if (numa->type != HWLOC_OBJ_NUMANODE) return above;
    const auto id = static_cast<std::int64_t>(numa->logical_index);
    const auto holder = allowed("numanode") ? add("numanode", id, above) : above;
    const auto size = static_cast<Amount>(numa->attr->numanode.local_memory / kGiB);
    if (allowed("memory") && size > 0) {
      const auto row = add("memory", id, holder, size);
      spec_.rows[row].unit = spec_.words.names.intern("GiB");
    }
    return holder;
  }

  // The object's own vertex, or the one above it if it has none.
  std::uint32_t vertex_of(hwloc_obj_t object, std::uint32_t above) {
    const auto id = static_cast<std::int64_t>(object->logical_index);
    const auto plain = [&](const char* type) {
      return allowed(type) ? add(type, id, above) : above;
    };
    switch (object->type) {
      case HWLOC_OBJ_MACHINE:
        return node_of(above);
      case HWLOC_OBJ_GROUP:
        return plain("group");
      case HWLOC_OBJ_PACKAGE:
        return plain("socket");
      case HWLOC_OBJ_NUMANODE:
        return plain("numanode");
      case HWLOC_OBJ_CORE:
        return plain("core");
      case HWLOC_OBJ_PU:
        return plain(core_ == HWLOC_OBJ_PU ? "core" : "pu");
      case HWLOC_OBJ_L1CACHE:
        return cache_of(object, above, "L1cache");
      case HWLOC_OBJ_L2CACHE:
        return cache_of(object, above, "L2cache");
      case HWLOC_OBJ_L3CACHE:
        return cache_of(object, above, "L3cache");
      case HWLOC_OBJ_OS_DEVICE:
        return device_of(object, above);
      default:
        return above;
    }
  }

  std::uint32_t node_of(std::uint32_t above) {
    if (!allowed("node") || host_.empty()) return above;
    const auto name = split(host_);
    if (name.too_big && options_.as_fluxion)
      status_ =
          fail(Errc::out_of_range, "a host's number above " + std::to_string(INT64_MAX), host_);
    const auto row = add("node", name.id, above);
    auto& out = spec_.rows[row];
    out.rank = rank_;
    out.basename = spec_.words.names.intern(name.basename);
    const auto composed = name.id < 0 ? name.basename : name.basename + std::to_string(name.id);
    if (composed != host_) out.name = spec_.words.names.intern(host_);
    return row;
  }

  std::uint32_t cache_of(hwloc_obj_t object, std::uint32_t above, const char* basename) {
    if (!allowed(basename)) return above;
    const auto size = static_cast<Amount>(object->attr->cache.size / 1024);
    const auto row = add("cache", static_cast<std::int64_t>(object->logical_index), above, size);
    spec_.rows[row].basename = spec_.words.names.intern(basename);
    return row;
  }

  std::uint32_t device_of(hwloc_obj_t object, std::uint32_t above) {
    if (const auto gpu = gpu_of(object)) return gpu_vertex(*gpu, object, above);
    if (object->attr->osdev.type == HWLOC_OBJ_OSDEV_BLOCK && allowed("storage")) {
      return storage_of(object, above);
    }
    return above;
  }

  std::uint32_t gpu_vertex(const GpuView& gpu, hwloc_obj_t object, std::uint32_t above) {
    if (!allowed("gpu")) return above;
    if (options_.as_fluxion) {  // it does not know Level Zero, and reads no digits as 0
      const bool known = gpu.view != "ze";
      const auto id = known ? gpu.id : static_cast<std::int64_t>(object->logical_index);
      return add("gpu", std::max<std::int64_t>(id, 0), above);
    }
    const auto counted = gpus_.find(object);
    return counted == gpus_.end() ? above : add("gpu", counted->second, above);
  }

  // hwloc gives the size in kB of 1000 bytes; a pool has whole GB.
  std::uint32_t storage_of(hwloc_obj_t object, std::uint32_t above) {
    const char* text = hwloc_obj_get_info_by_name(object, "Size");
    Amount size = 0;
    const std::string_view digits = text == nullptr ? "" : text;
    std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (size <= 0) {
      if (options_.as_fluxion) {
        status_ = fail(Errc::invalid_argument, "a block device without size",
                       object->name == nullptr ? "storage" : object->name);
      }
      return above;
    }
    const auto id = static_cast<std::int64_t>(object->logical_index);
    const auto row = add("storage", id, above, size / 1000000);
    const char* device = hwloc_obj_get_info_by_name(object, "LinuxDeviceID");
    spec_.properties.push_back({row, "LinuxDeviceID", device == nullptr ? "-1" : device});
    return row;
  }

  GraphSpec& spec_;
  const HwlocOptions& options_;
  hwloc_topology_t topology_ = nullptr;
  std::string host_;
  std::int32_t rank_ = -1;
  hwloc_obj_type_t core_ = HWLOC_OBJ_CORE;
  std::map<hwloc_obj_t, std::int64_t> gpus_;  // those that count, and their numbers
  Status status_;
};

}  // namespace

Result<GraphSpec> read_hwloc(std::span<const HostTopology> hosts, const HwlocOptions& options) {
  for (const auto& word : options.allow) {
    if (!options.as_fluxion && std::ranges::find(kWords, word) == kWords.end()) {
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' is not known; accepted: {}", word, fmt::join(kWords, ", ")),
                  "allow-list");
    }
  }
  GraphSpec spec;
  spec.twins = options.as_fluxion;  // a GPU that two libraries see
  const auto root = spec.add("cluster", 0, GraphSpec::kNone);
  Walker walker(spec, options);
  const auto caches =
      options.as_fluxion ? HWLOC_TYPE_FILTER_KEEP_STRUCTURE : HWLOC_TYPE_FILTER_KEEP_ALL;
  std::int32_t next_rank = 0;
  Result<HwlocTopology> topology = fail(Errc::not_found, "no hosts");  // of the one before
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto& host = hosts[i];
    const auto where = host.host.empty() ? fmt::format("hwloc XML {}", i) : host.host;
    const bool is_as_before = i > 0 && host.xml.data() == hosts[i - 1].xml.data() &&
                              host.xml.size() == hosts[i - 1].xml.size();
    if (!is_as_before) topology = load(host.xml, caches, where);
    if (!topology) return tl::unexpected(topology.error());
    const auto rank = host.rank >= 0 ? host.rank : next_rank;
    next_rank = std::max(next_rank, rank + 1);
    if (auto ok = walker.walk(*topology, root, rank, host.host); !ok) {
      return tl::unexpected(ok.error());
    }
    if (spec.rows.size() > kMaxVertices) {
      return fail(Errc::out_of_range, fmt::format("more than {} vertices", kMaxVertices), where);
    }
  }
  return spec;
}

}  // namespace holon::resource
