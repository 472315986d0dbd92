#include "launch/mpi/offer_wire_up.hpp"

#include "launch/mpi/pmi_wire_up.hpp"
#include "launch/mpi/pmix_wire_up.hpp"
#include "launch/mpi/program_kind.hpp"

namespace holon::launch {
namespace {

std::string kind_for(const WireUpGround& ground, const std::string& wanted) {
  if (wanted != "auto") return wanted;
  const ProgramImage& program = ground.program;
  return names_open_mpi(program.argv, program.env, program.cwd) ? "pmix" : "pmi2";
}

}  // namespace

Result<std::unique_ptr<WireUp>> make_wire_up(const WireUpGround& ground, const msg::Start& start,
                                             WireUpEvents events) {
  if (start.mpi.empty()) return nullptr;
  const std::string kind = kind_for(ground, start.mpi);
  if (kind == "pmix") {
    auto made = PmixWireUp::create({ground.reactor, ground.processes, ground.frame, ground.cgroup},
                                   start, std::move(events));
    if (!made) return tl::unexpected(made.error());
    return std::move(*made);
  }
  if (kind != "pmi1" && kind != "pmi2")
    return fail(Errc::invalid_argument, "'" + kind + "' is none of auto, pmi1, pmi2 and pmix",
                "mpi");
  const auto versions = kind == "pmi1" ? pmi::Versions::one : pmi::Versions::both;
  auto made = PmiWireUp::create(ground.reactor, ground.kept, start, versions, std::move(events));
  if (!made) return tl::unexpected(made.error());
  return std::move(*made);
}

}  // namespace holon::launch
