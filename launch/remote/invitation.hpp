// invitation.hpp - what an instance hands to the processes that a launcher starts for it on other
// nodes: by standard input, an environment variable, a file that only its owner can read, or PMI.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/curve/admission.hpp"

namespace holon::launch {

// The variable that holds it where a launcher hands over nothing but its environment.
inline constexpr const char* kInvitation = "HOLON_INVITATION";

struct Invitation {
  std::vector<std::string> addresses;  // tcp://10.0.0.7:4711, to be tried in this order
  std::string server_key;              // the broker's public one
  // Lets its owner ask for a place (place.hpp), and nothing else.
  transport::KeyPair key;

  bool operator==(const Invitation&) const = default;
};

// One line of JSON, without the end of it, and back. Errors: invalid_argument; what was found is
// not repeated, for it may be a part of a secret.
std::string write_invitation(const Invitation& invitation);
Result<Invitation> parse_invitation(std::string_view text);

// How long standard input is waited for, ms: whoever hands an invitation over has it by then.
inline constexpr Duration kInvitationPatience = 60'000;

// The invitation of this process: in `file` if that is not empty, else in the variable, which is
// taken out of the environment, else the first line of standard input. Errors: not_found (also:
// input that is open and brings no line within `patience` ms), invalid_argument.
Result<Invitation> take_invitation(const std::string& file,
                                   Duration patience = kInvitationPatience);

}  // namespace holon::launch
