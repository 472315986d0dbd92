// shared_bytes.hpp - how much memory the requests of a user take while they are done in portions.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace holon::instance {

class SharedBytes {
  using Used = std::map<std::string, std::size_t>;

 public:
  // Bytes that somebody has, until it is destroyed.
  class Hold {
   public:
    Hold(Hold&&) noexcept = default;
    Hold& operator=(Hold&&) noexcept = delete;
    ~Hold() {
      if (used_ == nullptr) return;
      const auto of_user = used_->find(user_);
      if ((of_user->second -= bytes_) == 0) used_->erase(of_user);
    }

   private:
    friend class SharedBytes;
    Hold(std::shared_ptr<Used> used, std::string user, std::size_t bytes)
        : used_(std::move(used)), user_(std::move(user)), bytes_(bytes) {}

    std::shared_ptr<Used> used_;
    std::string user_;
    std::size_t bytes_;
  };

  // `most`: bytes of a user at a time.
  explicit SharedBytes(std::size_t most) : most_(most) {}

  // nullopt: with these the user would have more than is allowed. Whoever has none gets as many as
  // they want. O(log users).
  std::optional<Hold> take(const std::string& user, std::size_t bytes) {
    const auto found = used_->find(user);
    if (found != used_->end() && (bytes > most_ || found->second > most_ - bytes))
      return std::nullopt;
    (*used_)[user] += bytes;
    return Hold(used_, user, bytes);
  }

 private:
  std::size_t most_;
  std::shared_ptr<Used> used_ = std::make_shared<Used>();
};

}  // namespace holon::instance
