// remembered.hpp - answers of getent about users and groups, kept for some seconds: a listing of a
// thousand rows then asks once for each name, and not once for each row.
//
// For one thread: each has its own. A key is "DATABASE KEY", of a name and of a number alike.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "base/time.hpp"
#include "standalone/getent.hpp"

namespace holon::standalone {

class RememberedAnswers {
 public:
  struct Limits {
    Duration found = 10'000;  // ms that an answer is kept
    // ms that is kept that there is no such name, or that it could not be asked for: a user who was
    // just made is there soon, and a directory that hangs is waited for once in a listing.
    Duration none = 2'000;
    std::size_t bytes = std::size_t{4} << 20;  // of all that is kept
  };
  RememberedAnswers(Limits limits, std::function<Time()> clock);

  // What ask_getent() says, or has said within the term. A term begins with the answer.
  GetentAnswer ask(const Sources& sources, const std::string& database, const std::string& key);

 private:
  struct Kept {
    GetentAnswer answer;
    Time end = 0;  // of its term
    std::size_t bytes = 0;
  };
  void keep(const std::string& question, const GetentAnswer& answer);
  void drop(std::map<std::string, Kept>::iterator which);

  const Limits limits_;
  const std::function<Time()> clock_;
  std::map<std::string, Kept> kept_;
  std::size_t bytes_ = 0;  // of all in kept_
};

}  // namespace holon::standalone
