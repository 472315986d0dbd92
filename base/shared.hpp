// shared.hpp - a value whose copies are made late: a copy costs a counter, and the value itself is
// copied when one of those who share it changes it.
#pragma once
#include <memory>
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

  // To be changed; nobody else sees it. O(the value) if it is shared. What was looked at through
  // this one before stays what it was, and may be gone.
  T& edit() {
    if (value_.use_count() != 1) value_ = std::make_shared<T>(*value_);
    return *value_;
  }

 private:
  std::shared_ptr<T> value_;
};

}  // namespace holon
