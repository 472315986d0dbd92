// The short shape notation of --resources, see docs/formats.md for the grammar.
//
// Two passes: a small recursive-descent parser makes a tree of items (its depth is limited, so is
// the recursion), then the tree is unrolled into rows. The number of rows is known, and refused,
// before the first is made.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "resource/formats/readers.hpp"

namespace holon::resource {
namespace {

constexpr int kMaxLevels = 32;

struct Item {
  std::string type;
  std::int64_t count = 1;
  Amount size = 1;
  std::string unit;
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<Item> below;
};

// The unit of a type whose number means units of one pool; nullopt: the type is no pool.
std::optional<std::string> pool_unit(std::string_view type) {
  if (type == "memory") return "GiB";
  if (type == "storage" || type == "ssd") return "GB";
  if (type == "license" || type == "bandwidth" || type == "power") return "";
  return std::nullopt;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

class ShapeParser {
 public:
  explicit ShapeParser(std::string_view text) : text_(text) {}

  Result<std::vector<Item>> parse() {
    auto items = levels(0);
    if (items && at_ < text_.size()) {
      return error(fmt::format("'{}' is not expected here", text_[at_]));
    }
    return items;
  }

 private:
  tl::unexpected<Error> error(std::string what) const {
    return fail(Errc::invalid_argument, std::move(what) + "; accepted: TYPE[=COUNT], '/' and ','",
                fmt::format("column {}", at_ + 1));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  // Parses item {',' item} ['/' levels]; what follows the slash is below the last item.
  Result<std::vector<Item>> levels(int depth) {
    if (depth > kMaxLevels) {
      return fail(Errc::out_of_range, fmt::format("more than {} levels", kMaxLevels),
                  fmt::format("column {}", at_ + 1));
    }
    std::vector<Item> items;
    do {
      if (accept('[')) {
        auto group = bracket(depth + 1);
        if (!group) return group;
        std::ranges::move(*group, std::back_inserter(items));
        continue;
      }
      auto one = item();
      if (!one) return tl::unexpected(one.error());
      items.push_back(*std::move(one));
    } while (accept(','));
    if (accept('/')) {
      auto below = levels(depth + 1);
      if (!below) return below;
      items.back().below = *std::move(below);
    }
    return items;
  }

  // Parses levels {';' levels} ']'.
  Result<std::vector<Item>> bracket(int depth) {
    std::vector<Item> items;
    do {
      auto some = levels(depth);
      if (!some) return some;
      std::ranges::move(*some, std::back_inserter(items));
    } while (accept(';'));
    if (!accept(']')) return error("the bracket is not closed by ']'");
    return items;
  }

  Result<Item> item() {
    Item item;
    while (is_word(peek())) item.type += text_[at_++];
    if (item.type.empty()) return error("a resource type is missing");
    if (item.type.front() >= '0' && item.type.front() <= '9') {
      return error(fmt::format("'{}' is no resource type", item.type));
    }
    const auto unit = pool_unit(item.type);
    item.unit = unit.value_or("");
    if (accept('=')) {
      auto first = number();
      if (!first) return tl::unexpected(first.error());
      const bool second = accept(':');
      auto size = second ? number() : first;
      if (!size) return tl::unexpected(size.error());
      item.count = unit && !second ? 1 : *first;
      item.size = unit || second ? *size : 1;
    }
    if (accept('{')) {
      if (auto ok = properties(item); !ok) return tl::unexpected(ok.error());
    }
    return item;
  }

  Result<std::int64_t> number() {
    const auto* begin = text_.data() + at_;
    const auto* end = text_.data() + text_.size();
    std::int64_t value = 0;
    const auto [stop, code] = std::from_chars(begin, end, value);
    if (code == std::errc::result_out_of_range) return error("the count is too large");
    if (code != std::errc{} || value < 1) return error("a count must be a whole number above 0");
    at_ += static_cast<std::size_t>(stop - begin);
    return value;
  }

  Status properties(Item& item) {
    do {
      std::string key, value;
      while (is_word(peek())) key += text_[at_++];
      if (key.empty()) return error("a property is missing");
      if (accept('=')) {
        while (is_word(peek())) value += text_[at_++];
      }
      item.properties.emplace_back(std::move(key), std::move(value));
    } while (accept(','));
    if (!accept('}')) return error("the properties are not closed by '}'");
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Rows that items unroll to, saturating above kMaxVertices.
std::uint64_t rows_of(const std::vector<Item>& items) {
  std::uint64_t rows = 0;
  for (const auto& item : items) {
    const auto each = 1 + rows_of(item.below);
    const auto count = static_cast<std::uint64_t>(item.count);
    if (count > kMaxVertices || each > kMaxVertices || each * count > kMaxVertices) {
      return kMaxVertices + 1;
    }
    rows = std::min<std::uint64_t>(rows + each * count, kMaxVertices + 1);
  }
  return rows;
}

bool has_node(const std::vector<Item>& items) {
  return std::ranges::any_of(
      items, [](const Item& item) { return item.type == "node" || has_node(item.below); });
}

class Unroller {
 public:
  GraphSpec unroll(const std::vector<Item>& items) {
    const auto root = spec_.add("cluster", 0, GraphSpec::kNone);
    add_all(items, root, -1);
    return std::move(spec_);
  }

 private:
  // Above the nodes ids count through the whole tree, below a node through that node: a core's id
  // is its number within its host, as in R_lite.
  void add_all(const std::vector<Item>& items, std::uint32_t parent, std::int32_t rank) {
    for (const auto& item : items) {
      for (std::int64_t i = 0; i < item.count; ++i) add(item, parent, rank);
    }
  }

  void add(const Item& item, std::uint32_t parent, std::int32_t rank) {
    const bool node = item.type == "node";
    auto& ids = rank < 0 ? outer_ids_ : inner_ids_;
    if (node) inner_ids_.clear();
    const auto own_rank = node ? static_cast<std::int32_t>(next_rank_++) : rank;
    const auto row = spec_.add(item.type, ids[item.type]++, parent, own_rank, item.size);
    if (!item.unit.empty()) spec_.rows[row].unit = spec_.words.names.intern(item.unit);
    for (const auto& [key, value] : item.properties) spec_.properties.push_back({row, key, value});
    add_all(item.below, row, own_rank);
  }

  GraphSpec spec_;
  std::map<std::string, std::int64_t> outer_ids_, inner_ids_;
  std::int64_t next_rank_ = 0;
};

// Is the type a part of a node, which has no node in itself?
bool is_part_of_node(std::string_view type) {
  constexpr std::string_view kParts[] = {"core", "pu", "gpu", "socket", "numanode", "memory"};
  return std::ranges::find(kParts, type) != std::end(kParts);
}

// The first part of a node with a node somewhere below; nullptr: there is none.
const Item* part_with_node(const std::vector<Item>& items) {
  for (const Item& item : items) {
    if (is_part_of_node(item.type) && has_node(item.below)) return &item;
    if (const Item* below = part_with_node(item.below)) return below;
  }
  return nullptr;
}

bool nested_node(const std::vector<Item>& items, bool inside) {
  return std::ranges::any_of(items, [&](const Item& item) {
    const bool node = item.type == "node";
    return (node && inside) || nested_node(item.below, inside || node);
  });
}

}  // namespace

Result<GraphSpec> read_shape(std::string_view text) {
  auto items = ShapeParser(text).parse();
  if (!items) return tl::unexpected(items.error());
  if (nested_node(*items, false)) {
    return fail(Errc::invalid_argument, "a node cannot be inside a node", "column 1");
  }
  if (const Item* part = part_with_node(*items))
    return fail(Errc::invalid_argument,
                fmt::format("a node cannot be inside a {0}; node=4/{0}=2 has two in each of four "
                            "nodes",
                            part->type),
                "column 1");
  if (items->size() == 1 && items->front().type == "cluster" && items->front().count == 1) {
    auto below = std::move(items->front().below);
    *items = std::move(below);
  }
  if (!has_node(*items)) {
    Item node;
    node.type = "node";
    node.below = *std::move(items);
    items->assign(1, std::move(node));
  }
  if (rows_of(*items) > kMaxVertices) {
    return fail(Errc::out_of_range, fmt::format("more than {} vertices", kMaxVertices), "column 1");
  }
  return Unroller().unroll(*items);
}

}  // namespace holon::resource
