// node.cpp - hwloc: discovery, restriction to the CPUs that may be used, export.
//
// Cores are numbered by their logical index in the restricted topology, from 0. A child instance's
// agents run bound to a part of the node, yet their grant speaks of the root's numbers: they
// restrict to the root's CPUs (HOLON_CPUSET), not to their own, and so number alike. Restricting
// the same machine to the same CPUs always gives the same numbers.
#include "launch/node.hpp"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "base/gpu_devices.hpp"
#include "launch/topology.hpp"

namespace holon::launch {
namespace {

constexpr unsigned kBits = sizeof(unsigned long) * CHAR_BIT;
// PCI vendors.
constexpr unsigned kNvidia = 0x10de, kAmd = 0x1002, kIntel = 0x8086;
constexpr unsigned kDisplay = 0x03;  // PCI class, high byte
constexpr unsigned k3dController = 0x0302;
constexpr std::int64_t kMostGpus = 1'023;  // a larger number of one is no count

struct FreeTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, FreeTopology>;

struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

std::string to_list(hwloc_const_bitmap_t bitmap) {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, bitmap) < 0) return "";
  std::string list = text;
  free(text);  // NOLINT: malloc'ed by hwloc
  return list;
}

Result<Topology> make_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return system_error("hwloc");
  Topology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  return topology;
}

Status take_xml(hwloc_topology_t topology, const std::string& xml) {
  if (hwloc_topology_set_xmlbuffer(topology, xml.c_str(), static_cast<int>(xml.size()) + 1) != 0 ||
      hwloc_topology_load(topology) != 0)
    return fail(Errc::invalid_argument, "hwloc cannot read this XML");
  return {};
}

Result<Topology> load() {
  auto topology = make_topology();
  if (topology && hwloc_topology_load(topology->get()) != 0)
    return system_error("hwloc cannot read this machine");
  return topology;
}

// What another process has seen of this machine, if that can be read.
Result<Topology> load(const std::string& known) {
  if (known.empty()) return load();
  auto topology = make_topology();
  if (!topology) return topology;
  hwloc_topology_set_flags(topology->get(), HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  return take_xml(topology->get(), known) ? std::move(topology) : load();
}

// The CPUs that this thread, and what it starts, is bound to, or those of `cpuset`.
Result<Bitmap> wanted_cpus(hwloc_topology_t topology, const std::string& cpuset) {
  Bitmap wanted(hwloc_bitmap_alloc());
  if (cpuset.empty()) {
    if (hwloc_get_cpubind(topology, wanted.get(), HWLOC_CPUBIND_THREAD) != 0)
      return system_error("cannot ask for the CPU binding");
  } else if (hwloc_bitmap_list_sscanf(wanted.get(), cpuset.c_str()) != 0) {
    return fail(Errc::invalid_argument, "a set of CPUs is written as \"0-3,8\"", cpuset);
  }
  hwloc_bitmap_and(wanted.get(), wanted.get(), hwloc_topology_get_allowed_cpuset(topology));
  if (hwloc_bitmap_iszero(wanted.get()))
    return fail(Errc::invalid_argument, "none of these CPUs may be used on this machine", cpuset);
  return wanted;
}

Status restrict_to(hwloc_topology_t topology, const std::string& cpuset) {
  const auto wanted = wanted_cpus(topology, cpuset);
  if (!wanted) return tl::unexpected<Error>(wanted.error());
  if (hwloc_bitmap_isequal(wanted->get(), hwloc_topology_get_topology_cpuset(topology))) return {};
  constexpr auto kFlags = HWLOC_RESTRICT_FLAG_REMOVE_CPULESS | HWLOC_RESTRICT_FLAG_ADAPT_IO;
  if (hwloc_topology_restrict(topology, wanted->get(), kFlags) != 0)
    return system_error("hwloc cannot restrict the machine to CPUs " + to_list(wanted->get()));
  return {};
}

Result<Topology> load_restricted(const std::string& cpuset) {
  auto topology = load();
  if (!topology) return topology;
  if (auto good = restrict_to(topology->get(), cpuset); !good) return tl::unexpected(good.error());
  return topology;
}

Result<std::string> to_xml(hwloc_topology_t topology) {
  char* buffer = nullptr;
  int length = 0;
  if (hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0) != 0)
    return system_error("hwloc cannot write XML");
  std::string xml(buffer,
                  length > 0 ? static_cast<std::size_t>(length - 1) : 0);  // without its final NUL
  hwloc_free_xmlbuffer(topology, buffer);
  return xml;
}

// Of this node: what it has, cut to what this process was given.
Result<std::string> own_xml(hwloc_topology_t topology, const VisibleGpus& visible) {
  auto xml = to_xml(topology);
  if (xml && !visible.empty()) xml = with_gpus(*xml, visible);
  return xml;
}

// Limits memory in the units of the resource graph; rounding remainders go to the first nodes with
// room for them.
void limit_memory(hwloc_topology_t topology, std::uint64_t most) {
  constexpr std::uint64_t kUnit = std::uint64_t{1} << 30U;
  std::vector<hwloc_obj_t> nodes;
  std::uint64_t all = 0;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));) {
    nodes.push_back(node);
    all += node->attr->numanode.local_memory;
  }
  if (most == 0 || all <= most) return;
  std::uint64_t left = most / kUnit * kUnit;
  std::vector<std::uint64_t> room;
  for (hwloc_obj_t node : nodes) {
    auto& memory = node->attr->numanode.local_memory;
    const auto share = static_cast<long double>(memory) / static_cast<long double>(all);
    const auto part = static_cast<std::uint64_t>(share * static_cast<long double>(most));
    room.push_back(memory / kUnit * kUnit - part / kUnit * kUnit);
    memory = part / kUnit * kUnit;
    left -= memory;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint64_t more = std::min(left, room[i]);
    nodes[i]->attr->numanode.local_memory += more;
    left -= more;
  }
}

CpuMask to_mask(hwloc_const_bitmap_t bitmap) {
  CpuMask mask;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0; cpu = hwloc_bitmap_next(bitmap, cpu))
    mask.add(static_cast<unsigned>(cpu));
  return mask;
}

bool is_gpu(const hwloc_obj* device) {
  const unsigned kind = device->attr->pcidev.class_id;
  return kind >> 8 == kDisplay &&
         (kind == k3dController || device->attr->pcidev.vendor_id == kAmd ||
          device->attr->pcidev.vendor_id == kNvidia);
}

std::optional<Maker> maker_of(const hwloc_obj* card) {
  if (card == nullptr) return std::nullopt;
  switch (card->attr->pcidev.vendor_id) {
    case kNvidia:
      return Maker::nvidia;
    case kAmd:
      return Maker::amd;
    case kIntel:
      return Maker::intel;
    default:
      return std::nullopt;
  }
}

Maker maker_of(const GpuView& gpu, const hwloc_obj* card) {
  if (gpu.view == "rsmi") return Maker::amd;
  if (gpu.view == "ze") return Maker::intel;
  return gpu.view == "cuda" ? Maker::nvidia : maker_of(card).value_or(Maker::nvidia);
}

// Those that a library shows, by the numbers that the resource graph gives them, too.
std::vector<GpuOfMaker> find_gpus(hwloc_topology_t topology) {
  std::vector<SeenGpu> seen;
  std::vector<hwloc_obj_t> cards;
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology, device));) {
    if (device->name == nullptr || device->attr == nullptr) continue;
    const auto kind = device->attr->osdev.type;
    const auto gpu = gpu_view(device->name, kind == HWLOC_OBJ_OSDEV_COPROC,
                              kind == HWLOC_OBJ_OSDEV_GPU, device->logical_index);
    if (!gpu) continue;
    const bool has_card = device->parent != nullptr && device->parent->type == HWLOC_OBJ_PCI_DEVICE;
    cards.push_back(has_card ? device->parent : nullptr);
    seen.push_back({*gpu, cards.back()});
  }
  const auto numbers = number_gpus(seen);
  std::vector<GpuOfMaker> gpus;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!numbers[i] || *numbers[i] > kMostGpus) continue;
    const auto number = static_cast<std::size_t>(*numbers[i]);
    if (gpus.size() <= number) gpus.resize(number + 1);
    gpus[number] = {maker_of(seen[i].gpu, cards[i]), static_cast<std::size_t>(seen[i].gpu.id)};
  }
  return gpus;
}

std::set<Maker> find_makers(hwloc_topology_t topology, const std::vector<GpuOfMaker>& gpus) {
  std::set<Maker> makers;
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(topology, device));)
    if (const auto maker = maker_of(device); maker && is_gpu(device)) makers.insert(*maker);
  for (const auto& gpu : gpus) makers.insert(gpu.maker);
  return makers;
}

// Are there any whose numbers depend on the environment of who looks?
bool sees_gpus(hwloc_topology_t topology) {
  const auto gpus = find_gpus(topology);
  return !gpus.empty() || !find_makers(topology, gpus).empty();
}

}  // namespace

void CpuMask::add(unsigned cpu) {
  if (words_.size() <= cpu / kBits) words_.resize(cpu / kBits + 1, 0UL);
  words_[cpu / kBits] |= 1UL << (cpu % kBits);
}

void CpuMask::add(const CpuMask& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size(), 0UL);
  for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
}

bool CpuMask::empty() const {
  for (const unsigned long word : words_)
    if (word != 0) return false;
  return true;
}

bool CpuMask::contains(unsigned cpu) const {
  return cpu / kBits < words_.size() && (words_[cpu / kBits] >> (cpu % kBits) & 1UL) != 0;
}

std::size_t CpuMask::count() const {
  std::size_t n = 0;
  for (const unsigned long word : words_) n += static_cast<std::size_t>(std::popcount(word));
  return n;
}

bool CpuMask::covers(const CpuMask& other) const {
  for (std::size_t i = 0; i < other.words_.size(); ++i)
    if ((other.words_[i] & ~(i < words_.size() ? words_[i] : 0UL)) != 0) return false;
  return true;
}

Result<CpuMask> CpuMask::current() {
  return of(0);
}

Result<CpuMask> CpuMask::of(int pid) {
  CpuMask mask;
  for (std::size_t words = 16; words <= 4096;
       words *= 2) {  // EINVAL: the kernel knows more CPUs than that
    mask.words_.assign(words, 0UL);
    if (sched_getaffinity(pid, words * sizeof(unsigned long),
                          reinterpret_cast<cpu_set_t*>(mask.words_.data())) == 0)
      return mask;
    if (errno != EINVAL) break;
  }
  return system_error("cannot ask for the CPU affinity");
}

Status CpuMask::apply() const {
  if (apply_quietly() == 0) return {};
  return system_error("cannot bind to CPUs");
}

int CpuMask::apply_quietly() const noexcept {
  const auto* words = reinterpret_cast<const cpu_set_t*>(words_.data());
  return sched_setaffinity(0, words_.size() * sizeof(unsigned long), words) == 0 ? 0 : errno;
}

Result<Node> Node::discover(const std::string& cpuset, const std::string& known) {
  const auto topology = load(known);
  if (!topology) return tl::unexpected<Error>(topology.error());
  auto machine = to_xml(topology->get());
  if (!machine) return tl::unexpected<Error>(machine.error());
  const bool has_gpus = sees_gpus(topology->get());
  if (auto good = restrict_to(topology->get(), cpuset); !good) return tl::unexpected(good.error());
  auto node = read(topology->get());
  if (!node) return node;
  if (!has_gpus) node->machine_ = std::move(*machine);
  const VisibleGpus visible = visible_gpus(node->makers_);
  auto xml = own_xml(topology->get(), visible);
  if (!xml) return tl::unexpected<Error>(xml.error());
  if (!visible.empty()) {  // numbered as they are in what was cut
    auto cut = of(*xml);
    if (!cut) return cut;
    node->gpus_by_number_ = cut->gpus_by_number_;
  }
  node->xml_ = std::move(*xml);
  return node;
}

Result<Node> Node::of(const std::string& xml) {
  const auto topology = make_topology();
  if (!topology) return tl::unexpected(topology.error());
  if (auto good = take_xml(topology->get(), xml); !good) return tl::unexpected(good.error());
  auto node = read(topology->get());
  if (node) node->xml_ = xml;
  return node;
}

Result<Node> Node::read(hwloc_topology* raw) {
  Node node;
  node.cpuset_ = to_list(hwloc_topology_get_topology_cpuset(raw));
  // Some virtual machines show CPUs without cores.
  const hwloc_obj_type_t unit =
      hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(raw, unit, core));)
    node.cores_.push_back(to_mask(core->cpuset));
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(raw, device));)
    if (is_gpu(device)) ++node.gpus_;
  node.gpus_by_number_ = find_gpus(raw);
  node.makers_ = find_makers(raw, node.gpus_by_number_);
  return node;
}

Result<CpuMask> Node::cpus_of(const Idset& cores) const {
  CpuMask mask;
  for (const Idset::Range& range : cores.ranges()) {
    if (range.last >= cores_.size())
      return fail(Errc::invalid_argument,
                  "core " + std::to_string(std::max<std::uint64_t>(range.first, cores_.size())) +
                      " does not exist, this node has " + std::to_string(cores_.size()));
    for (std::uint64_t core = range.first; core <= range.last; ++core) mask.add(cores_[core]);
  }
  return mask;
}

Result<std::string> topology_xml(const std::string& cpuset, std::uint64_t most_memory) {
  const auto topology = load_restricted(cpuset);
  if (!topology) return tl::unexpected<Error>(topology.error());
  limit_memory(topology->get(), most_memory);
  return own_xml(topology->get(),
                 visible_gpus(find_makers(topology->get(), find_gpus(topology->get()))));
}

Result<std::string> allowed_cpuset() {
  const auto topology = load();
  if (!topology) return tl::unexpected<Error>(topology.error());
  const auto wanted = wanted_cpus(topology->get(), "");
  if (!wanted) return tl::unexpected<Error>(wanted.error());
  return to_list(wanted->get());
}

}  // namespace holon::launch
