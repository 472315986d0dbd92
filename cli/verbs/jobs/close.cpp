// holon close: an open array has all its tasks.
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {

int verb_close(Invocation& call) {
  std::string job;
  Parser parser("close", "say that an open array has all its tasks");
  parser.required("ID", job, "the array: 7 or /3/7")
      .group("Options")
      .instance(call)
      .note(
          "An array that was submitted with --open takes more tasks (holon submit --into ID) until "
          "it is closed. Then it is over with its last task, and what waits for it (--dependency) "
          "goes on. A cancel closes it, too.")
      .example("holon close 7", "no more tasks for array 7");
  if (const auto code = parser.parse(call)) return *code;
  auto selected = connect_to_job(call, job);
  if (!selected) return report(call, "close", selected.error());
  msg::ExtendRequest request;
  request.id = selected->id;
  request.close = true;
  const auto closed = selected->client.extend(request);
  return closed ? static_cast<int>(kOk) : report(call, "close", closed.error());
}

}  // namespace holon::cli
