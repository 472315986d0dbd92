// shared.hpp - values that are copied late: a copy costs a counter, and the value is copied in fact
// when one of its sharers changes it.
#pragma once
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace holon {

// A shared value, for one owner's thread, like the value itself.
template <class T>
class Shared {
 public:
  Shared() : value_(std::make_shared<T>()) {}
  explicit Shared(T value) : value_(std::make_shared<T>(std::move(value))) {}

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  bool is_shared() const { return value_.use_count() != 1; }
  // The value to be changed; no sharer sees that. O(the value) if it is shared. References taken
  // through this one before stay as they were, and may be gone.
  T& edit() {
    if (is_shared()) value_ = std::make_shared<T>(*value_);
    return *value_;
  }

 private:
  std::shared_ptr<T> value_;
};

// A large map whose copies change little: a copy notes its changes beside what it shares.
template <class Key, class Value>
class SharedMap {
 public:
  // The value; nullptr: there is none. Valid until the map is changed.
  const Value* find(const Key& key) const {
    if (const auto own = changes_.find(key); own != changes_.end())
      return own->second ? &*own->second : nullptr;
    const auto found = all_->find(key);
    return found == all_->end() ? nullptr : &found->second;
  }
  bool contains(const Key& key) const { return find(key) != nullptr; }

  // Sets a value. O(1), and O(what a copy has changed) when nobody shares the map with it any more.
  void set(const Key& key, Value value) { change(key, std::move(value)); }
  void erase(const Key& key) { change(key, std::nullopt); }

  // Calls visit(key, value) for all entries, in no order. O(all).
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, value] : *all_)
      if (!changes_.contains(key)) visit(key, value);
    for (const auto& [key, value] : changes_)
      if (value) visit(key, *value);
  }

 private:
  void change(const Key& key, std::optional<Value> value) {
    if (all_.is_shared()) {
      changes_.insert_or_assign(key, std::move(value));
      return;
    }
    auto& all = all_.edit();
    if (!changes_.empty())
      for (auto& [changed, to] : std::exchange(changes_, {})) put(all, changed, std::move(to));
    put(all, key, std::move(value));
  }

  static void put(std::unordered_map<Key, Value>& all, const Key& key, std::optional<Value> value) {
    if (value)
      all.insert_or_assign(key, std::move(*value));
    else
      all.erase(key);
  }

  Shared<std::unordered_map<Key, Value>> all_;
  std::unordered_map<Key, std::optional<Value>> changes_;  // nullopt: it is gone
};

}  // namespace holon
