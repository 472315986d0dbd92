#include "base/gpu_devices.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <set>

namespace holon {
namespace {

// The most native ones first. Each of the first three is one maker's own.
constexpr std::array<std::string_view, 4> kViews{"cuda", "rsmi", "ze", "opencl"};
constexpr std::size_t kOfOneMaker = 3;

std::size_t rank_of(std::string_view view) {
  return static_cast<std::size_t>(std::ranges::find(kViews, view) - kViews.begin());
}

std::int64_t number_behind(std::string_view text, std::size_t prefix) {
  std::int64_t number = -1;
  text.remove_prefix(prefix);
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::optional<GpuView> gpu_view(std::string_view name, bool is_coprocessor, bool is_gpu,
                                std::int64_t otherwise) {
  if (!is_coprocessor && !(is_gpu && name.starts_with("rsmi"))) return std::nullopt;
  for (std::size_t i = 0; i < kOfOneMaker; ++i)
    if (name.starts_with(kViews[i]))
      return GpuView{kViews[i], number_behind(name, kViews[i].size())};
  if (name.starts_with("opencl")) {
    const auto d = name.find('d', 6);
    if (d != name.npos) return GpuView{"opencl", number_behind(name, d + 1)};
  }
  return GpuView{"", otherwise};
}

std::vector<std::optional<std::int64_t>> number_gpus(std::span<const SeenGpu> seen) {
  std::vector<std::size_t> order(seen.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rank_of(seen[i].gpu.view); });
  std::vector<std::optional<std::int64_t>> numbers(seen.size());
  std::set<std::int64_t> given;
  std::set<const void*> cards;
  std::set<std::pair<std::string_view, std::int64_t>> known;
  std::optional<std::string_view> first;
  for (const std::size_t i : order) {
    const auto& [gpu, card] = seen[i];
    if (gpu.id < 0) continue;
    if (!first) first = gpu.view;
    const bool is_own = rank_of(gpu.view) < kOfOneMaker;
    if (gpu.view != *first && ((card == nullptr && !is_own) || cards.contains(card))) continue;
    if (is_own && !known.emplace(gpu.view, gpu.id).second) continue;  // a part of that GPU: ze0.1
    const auto next = given.empty() ? 0 : *given.rbegin() + 1;
    const auto number = gpu.view == *first ? gpu.id : next;
    if (!given.insert(number).second) continue;
    numbers[i] = number;
    if (card != nullptr) cards.insert(card);
  }
  return numbers;
}

}  // namespace holon
