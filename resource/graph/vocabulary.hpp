// vocabulary.hpp - strings interned to dense small integers.
//
// Each graph owns its vocabularies; there is no process-wide table, so several graphs (or
// instances) live side by side. Ids count up from 0 in the order of first sight and never change.
// Const calls may run concurrently.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/strong.hpp"

namespace holon::resource {

// One kind of interned string; Tag keeps types ("core") and names ("rack0") apart.
template <class Tag>
class Interner {
 public:
  using Id = Strong<Tag, std::uint32_t>;

  Interner() = default;
  Interner(const Interner& other) { *this = other; }
  Interner(Interner&&) noexcept = default;
  Interner& operator=(const Interner& other) {
    if (this == &other) return *this;
    texts_ = other.texts_;
    index_.clear();
    for (std::uint32_t i = 0; i < texts_.size(); ++i) index_.emplace(texts_[i], Id{i});
    return *this;
  }
  Interner& operator=(Interner&&) noexcept = default;
  ~Interner() = default;

  // The id of `text`, new if it was never seen. O(length).
  Id intern(std::string_view text) {
    if (auto it = index_.find(text); it != index_.end()) return it->second;
    const Id id{static_cast<std::uint32_t>(texts_.size())};
    index_.emplace(texts_.emplace_back(text), id);
    return id;
  }

  // The id of `text`; nullopt: never seen.
  std::optional<Id> find(std::string_view text) const {
    auto it = index_.find(text);
    return it == index_.end() ? std::nullopt : std::optional{it->second};
  }

  // REQUIRES: `id` came from this interner.
  const std::string& text(Id id) const { return texts_[id.value()]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // a deque never moves its elements: index_ points into them
  std::unordered_map<std::string_view, Id> index_;
};

using TypeId = Strong<struct TypeTag, std::uint32_t>;  // "core", "node": few, dense, fit for tables
using NameId =
    Strong<struct NameTag, std::uint32_t>;  // base names, names, units, property keys and values

// The two vocabularies of one graph.
struct Vocabulary {
  Interner<TypeTag> types;
  Interner<NameTag> names;
};

}  // namespace holon::resource
