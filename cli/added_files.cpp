#include "cli/added_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "base/text/utf8.hpp"
#include "base/whole_file.hpp"

namespace holon::cli {
namespace {

constexpr std::uint32_t kEveryPermission = 0777;

// Takes the three or four octal digits behind the last colon of "job.sh:700".
std::optional<std::uint32_t> take_permissions(std::string& name) {
  const auto colon = name.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string digits = name.substr(colon + 1);
  std::uint32_t mode = 0;
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, mode, 8);
  if (digits.size() < 3 || digits.size() > 4 || error != std::errc() || last != end ||
      mode > kEveryPermission)
    return std::nullopt;
  name.erase(colon);
  return mode;
}

// The contents of the file. Any failure to read it is a wrong command line, whatever the reason.
Result<std::string> contents_of(const std::string& file) {
  auto data = read_whole_file(file, resource::kMostAddedBytes);
  if (data) return data;
  if (data.error().code != Errc::out_of_range)
    return fail(Errc::invalid_argument, file + ": " + data.error().what);
  return fail(Errc::invalid_argument,
              fmt::format("{}: more than {} bytes, which is what all files of a job may have; what "
                          "is larger belongs where the nodes see it",
                          file, resource::kMostAddedBytes));
}

std::uint32_t permissions_of(const std::string& file) {
  constexpr std::uint32_t kOwn = 0600;
  struct stat info {};
  return stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? info.st_mode & kEveryPermission
                                                                 : kOwn;
}

}  // namespace

Result<resource::AddedFile> read_added_file(const std::string& word) {
  namespace fs = std::filesystem;
  const auto equals = word.find('=');
  std::string name = word.substr(0, equals == std::string::npos ? 0 : equals);
  std::string file = equals == std::string::npos ? word : word.substr(equals + 1);
  std::error_code unknown;
  // "./a=b" may be a file itself: no name has a slash.
  if (name.find('/') != std::string::npos && fs::exists(word, unknown)) {
    name.clear();
    file = word;
  }
  const bool is_named = equals != std::string::npos && file.size() < word.size();
  const auto permissions = take_permissions(name);
  resource::AddedFile added;
  added.name = is_named ? name : fs::path(file).filename().string();
  if (auto good = resource::check_added_name(added.name); !good)
    return fail(good.error().code, good.error().what);
  if (!is_utf8(added.name))
    return fail(Errc::invalid_argument, "a name that is not UTF-8; a jobspec cannot hold it");
  if (is_named && file.find('\n') != std::string::npos) {
    added.data = std::move(file);
    added.mode = permissions.value_or(added.mode);
    return added;
  }
  auto data = contents_of(file);
  if (!data) return tl::unexpected(data.error());
  added.data = std::move(*data);
  added.mode = permissions.value_or(permissions_of(file));
  return added;
}

void add_file_option(Parser& parser, JobOptions& options, Unit unit) {
  const auto read = [&options](const std::string& word) -> Status {
    auto file = read_added_file(word);
    if (!file) return tl::unexpected(file.error());
    options.files.push_back(std::move(*file));
    if (auto good = resource::check_added_files(options.files); !good)
      return fail(Errc::invalid_argument, good.error().what);
    return {};
  };
  parser.group("Job")
      .option("--add-file", read, "[NAME[:MODE]=]FILE",
              unit == Unit::task
                  ? "a small file that goes along with the job, as it is now: its tasks find it on "
                    "each node in $HOLON_JOB_TMPDIR, {{tmpdir}} in COMMAND; 1 MiB in all; may be "
                    "repeated"
                  : "a small file that goes along with the child, as it is now: on each node its "
                    "script finds it in $HOLON_JOB_TMPDIR and the jobs in it in "
                    "$HOLON_INSTANCE_TMPDIR; 1 MiB in all; may be repeated")
      .adds_up();
}

}  // namespace holon::cli
