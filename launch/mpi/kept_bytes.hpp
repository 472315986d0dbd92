// kept_bytes.hpp - how much memory of an agent jobs may fill with what their tasks exchange: the
// jobs of one user, and all jobs together.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace holon::launch {

class KeptBytes : public std::enable_shared_from_this<KeptBytes> {
 public:
  static constexpr std::size_t kMostOfUser = std::size_t{64} << 20;
  static constexpr std::size_t kMostOfAll = std::size_t{192} << 20;

  explicit KeptBytes(std::size_t most_of_user = kMostOfUser, std::size_t most_of_all = kMostOfAll)
      : most_of_user_(most_of_user), most_of_all_(most_of_all) {}

  // What one job keeps; given back with this object.
  class Part {
   public:
    Part() = default;  // of nobody: without a bound
    Part(std::shared_ptr<KeptBytes> all, std::string user)
        : all_(std::move(all)), user_(std::move(user)) {}
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    // Changes how much the job keeps. False: it may not keep so much, and keeps as much as before.
    bool resize(std::size_t bytes);

   private:
    std::shared_ptr<KeptBytes> all_;
    std::string user_;
    std::size_t bytes_ = 0, most_ = 0;
  };

  std::size_t of_all() const { return of_all_; }

 private:
  bool change(const std::string& user, std::size_t from, std::size_t to);

  std::size_t most_of_user_, most_of_all_, of_all_ = 0;
  std::map<std::string, std::size_t> of_user_;
};

}  // namespace holon::launch
