// answer.hpp - how a process that serves one request reads it and answers.
#pragma once
#include <span>
#include <string>

#include "base/result.hpp"
#include "starter/request.hpp"
#include "starter/wire.hpp"

namespace holon::starter {

// Tells without waiting: the asker may be gone, or read nothing.
void tell(int line, const Told& told, std::span<const int> file = {});
// Tells why it refuses, and ends this process.
[[noreturn]] void refuse(int line, Step step, int error, const std::string& why = {});
// Reads the request once, into memory of this process: later writes to it change nothing. Errors:
// invalid_argument.
Result<Request> read_request(int body);

}  // namespace holon::starter
