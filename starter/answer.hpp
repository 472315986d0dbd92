// answer.hpp - how a process that serves one request reads it and answers.
#pragma once
#include <span>
#include <string>

#include "base/result.hpp"
#include "starter/request.hpp"
#include "starter/wire.hpp"

namespace holon::starter {

// Whoever asked may be gone, or read nothing: neither holds this process up.
void tell(int line, const Told& told, std::span<const int> file = {});
// Tells why not, and ends this process.
[[noreturn]] void refuse(int line, Step step, int error, const std::string& why = {});
// Once, into memory of this process: what is written there later changes nothing. Errors:
// invalid_argument.
Result<Request> read_request(int body);

}  // namespace holon::starter
