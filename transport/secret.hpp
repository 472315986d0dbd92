// secret.hpp - secrets between processes of one user: made by the kernel's generator, handed over
// in a descriptor, and so never in an environment, on a command line or in a file, where other
// processes of the user find them by looking.
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::transport {

// A secret of 128 bits, as 32 hexadecimal digits.
std::string new_secret();

// The end of a pipe that holds `text`, at most some 60 KB (where the kernel lets a user have larger
// pipes, 500 KB); closed on exec unless it is passed on. Errors: system.
Result<UniqueFd> secret_in_descriptor(std::string_view text);

// Takes the text of secret_in_descriptor(), once, from the inherited `fd`, which is closed. Errors:
// invalid_argument (nothing of that kind; then it stays open unless it is a pipe).
Result<std::string> take_secret(int fd);

// Compares secrets in a time that depends on their lengths only. An empty one equals none.
bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace holon::transport
