#include "batch/systems.hpp"

#include "base/hostlist.hpp"

namespace holon::batch {

void doubt(Allocation& allocation, const std::string& what, const Error& why) {
  allocation.doubts.push_back(what + ": " + to_string(why));
}

std::optional<std::uint64_t> number_in(const Environment& environment, const char* name,
                                       Allocation& allocation) {
  const std::string text = environment.at(name);
  if (text.empty()) return std::nullopt;
  const auto number = whole_number(text);
  if (number) return *number;
  doubt(allocation, name, number.error());
  return std::nullopt;
}

std::string first_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (environment.has(name)) return environment.at(name);
  return "";
}

std::optional<std::string> file_in(const Environment& environment,
                                   std::initializer_list<const char*> names,
                                   Allocation& allocation) {
  for (const char* name : names) {
    if (!environment.has(name)) continue;
    auto text = environment.read_file(environment.at(name));
    if (text) return std::move(*text);
    doubt(allocation, std::string(name) + "=" + environment.at(name), text.error());
  }
  return std::nullopt;
}

// ---- LSF ----

bool is_in_lsf(const Environment& environment) {
  return environment.has("LSB_JOBID");
}

void read_lsf(const Environment& environment, Allocation& allocation) {
  allocation.job = environment.at("LSB_JOBID");
  const std::string index = environment.at("LSB_JOBINDEX");
  if (!index.empty() && index != "0") allocation.job += "[" + index + "]";
  allocation.job_name = environment.at("LSB_JOBNAME");
  allocation.user = first_of(environment, {"LSFUSER", "USER"});
  if (environment.has("LSB_MCPU_HOSTS")) {
    auto nodes = read_pairs(environment.at("LSB_MCPU_HOSTS"), 2);
    if (nodes)
      allocation.nodes = std::move(*nodes);
    else
      doubt(allocation, "LSB_MCPU_HOSTS", nodes.error());
  }
  if (allocation.nodes.empty())
    if (const auto file = file_in(environment, {"LSB_DJOB_HOSTFILE"}, allocation))
      allocation.nodes = count_lines(*file);
  if (allocation.nodes.empty()) {
    std::string lines = environment.at("LSB_HOSTS");
    for (char& c : lines)
      if (c == ' ') c = '\n';
    allocation.nodes = count_lines(lines);
  }
}

// ---- OAR ----

bool is_in_oar(const Environment& environment) {
  return environment.has("OAR_JOB_ID") || environment.has("OAR_JOBID");
}

void read_oar(const Environment& environment, Allocation& allocation) {
  allocation.job = first_of(environment, {"OAR_JOB_ID", "OAR_JOBID"});
  allocation.job_name = environment.at("OAR_JOB_NAME");
  allocation.user = first_of(environment, {"OAR_USER", "USER"});
  // Reads a line for each resource, which is a core on most sites.
  if (const auto file =
          file_in(environment, {"OAR_NODEFILE", "OAR_NODE_FILE", "OAR_FILE_NODES"}, allocation))
    allocation.nodes = count_lines(*file);
  if (const auto seconds = number_in(environment, "OAR_JOB_WALLTIME_SECONDS", allocation))
    allocation.walltime = static_cast<std::int64_t>(*seconds);
}

// ---- Flux ----

// Is FLUX_URI set without a job, as in the script or the shell of a Flux instance?
bool is_in_flux(const Environment& environment) {
  return environment.has("FLUX_JOB_ID") || environment.has("FLUX_URI");
}

void read_flux(const Environment& environment, Allocation& allocation) {
  allocation.job = environment.at("FLUX_JOB_ID");
  allocation.user = environment.at("USER");
}

// ---- a job of another holon instance ----

bool is_in_holon(const Environment& environment) {
  return environment.has("HOLON_JOB_PATH");
}

void read_holon(const Environment& environment, Allocation& allocation) {
  allocation.job = environment.at("HOLON_JOB_PATH");
  allocation.user = environment.at("USER");
  const auto nodes = Hostlist::parse(environment.at("HOLON_NODELIST"));
  if (!nodes) return doubt(allocation, "HOLON_NODELIST", nodes.error());
  if (nodes->count() > kMaxNodes) return;
  for (auto& name : nodes->hosts()) allocation.nodes.push_back({std::move(name), 0});
  const auto index = number_in(environment, "HOLON_NODE_INDEX", allocation);
  if (index && *index < allocation.nodes.size()) allocation.node = allocation.nodes[*index].name;
}

}  // namespace holon::batch
