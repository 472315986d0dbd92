// shared.hpp - values whose copies are made late: a copy costs a counter, and what was copied is
// copied in fact when one of those who share it changes it.
#pragma once
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace holon {

// For one owner's thread, as the value itself.
template <class T>
class Shared {
 public:
  Shared() : value_(std::make_shared<T>()) {}
  explicit Shared(T value) : value_(std::make_shared<T>(std::move(value))) {}

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  bool is_shared() const { return value_.use_count() != 1; }
  // To be changed; nobody else sees it. O(the value) if it is shared. What was looked at through
  // this one before stays what it was, and may be gone.
  T& edit() {
    if (is_shared()) value_ = std::make_shared<T>(*value_);
    return *value_;
  }

 private:
  std::shared_ptr<T> value_;
};

// A large map of which a copy changes little: it notes its changes beside what it shares.
template <class Key, class Value>
class SharedMap {
 public:
  // nullptr: there is none. Valid until the map is changed.
  const Value* find(const Key& key) const {
    if (const auto own = changes_.find(key); own != changes_.end())
      return own->second ? &*own->second : nullptr;
    const auto found = all_->find(key);
    return found == all_->end() ? nullptr : &found->second;
  }
  bool contains(const Key& key) const { return find(key) != nullptr; }

  // O(1), and O(what a copy has changed) when nobody shares the map with it any more.
  void set(const Key& key, Value value) { change(key, std::move(value)); }
  void erase(const Key& key) { change(key, std::nullopt); }

  // Calls visit(key, value) for all, in no order. O(all).
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
