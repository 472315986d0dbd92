// invitation.hpp - what an instance gives to the processes that a launcher starts for it on other
// nodes: by standard input, an environment variable, a file that only its owner can read, or PMI.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/curve/admission.hpp"

namespace holon::launch {

// The variable that holds it if a launcher hands over only its environment.
inline constexpr const char* kInvitation = "HOLON_INVITATION";

struct Invitation {
  std::vector<std::string> addresses;  // tcp://10.0.0.7:4711, to be tried in this order
  std::string server_key;              // the broker's public one
  // Lets its holder ask for a place (place.hpp), and nothing else.
  transport::KeyPair key;

  bool operator==(const Invitation&) const = default;
};

// One line of JSON, without its end, and back. Errors: invalid_argument; without the text, which
// may be a part of a secret.
std::string write_invitation(const Invitation& invitation);
Result<Invitation> parse_invitation(std::string_view text);

// How long to wait for standard input, ms: processes that hand an invitation over have it by then.
inline constexpr Duration kInvitationPatience = 60'000;

// The invitation of this process: in `file` if that is not empty, else in the variable, which is
// taken out of the environment, else the first line of standard input. Errors: not_found (also:
// input that is open and brings no line within `patience` ms), invalid_argument.
Result<Invitation> take_invitation(const std::string& file,
                                   Duration patience = kInvitationPatience);

}  // namespace holon::launch
