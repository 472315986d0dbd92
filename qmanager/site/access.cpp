#include "qmanager/site/access.hpp"

#include <algorithm>

namespace holon::qmanager {

bool AccessList::admits(const std::string& user, const std::string& group) const {
  const auto named = [&](const std::vector<std::string>& list) {
    return std::any_of(list.begin(), list.end(), [&](const std::string& entry) {
      return entry.starts_with('@') ? !group.empty() && entry.substr(1) == group : entry == user;
    });
  };
  return (users.empty() || named(users)) && !named(xusers);
}

}  // namespace holon::qmanager
