#include "cli/workflow/file_claims.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace holon::cli {

namespace fs = std::filesystem;

std::vector<std::string> FileClaims::files_of(const JobOptions& job) {
  std::vector<std::string> files;
  for (const auto& file : {job.output, job.error}) {
    if (!file || file->find("{{id}}") != std::string::npos ||
        file->find("{{name}}") != std::string::npos)
      continue;
    std::error_code ignored;
    const fs::path path = fs::absolute(fs::path(job.shape.cwd) / *file, ignored);
    const bool is_device = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
    if (!is_device) files.push_back(path.lexically_normal().string());
  }
  return files;
}

Status FileClaims::claim(const std::vector<std::string>& files, const std::string& task) {
  for (const auto& file : files) {
    const auto [known, is_new] = tasks_.emplace(file, task);
    if (!is_new && known->second != task)
      return fail(
          Errc::invalid_argument,
          fmt::format("task {} writes into it, too, and each would begin it anew; {{{{name}}}} "
                      "in the name gives each task a file of its own",
                      known->second),
          "--output " + file);
  }
  return {};
}

}  // namespace holon::cli
