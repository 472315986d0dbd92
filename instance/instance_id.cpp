#include "instance/instance_id.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <random>

#include "instance/journal/durable_file.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kDigits = 32;
constexpr const char* kJournal = "journal";

std::string file_of(const std::string& state_dir) {
  return state_dir + "/instance.id";
}

bool is_id(const std::string& text) {
  return text.size() == kDigits && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isxdigit(c) != 0;
         });
}

}  // namespace

std::string new_instance_id() {
  std::random_device random;
  std::string id;
  while (id.size() < kDigits) id += fmt::format("{:08x}", static_cast<unsigned>(random()));
  return id;
}

Result<std::optional<InstanceId>> read_instance_id(const std::string& state_dir) {
  const std::string file = file_of(state_dir);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  std::ifstream in(file);
  InstanceId known;
  std::string journal;
  std::getline(in, known.id);
  std::getline(in, journal);
  if (!is_id(known.id))
    return fail(Errc::invalid_argument,
                "holds no instance's id (32 hexadecimal digits); remove it to give this state "
                "directory a new one",
                file);
  known.has_journal = journal == kJournal;
  return known;
}

Result<std::string> instance_id(const std::string& state_dir) {
  auto known = read_instance_id(state_dir);
  if (!known) return tl::unexpected(known.error());
  if (*known) return (*known)->id;
  const std::string id = new_instance_id();
  if (auto kept = write_durably(file_of(state_dir), id + "\n"); !kept)
    return tl::unexpected(kept.error());
  return id;
}

Status keep_instance_id(const std::string& state_dir, const std::string& id) {
  const auto known = read_instance_id(state_dir);
  if (known && *known && (*known)->id == id && (*known)->has_journal) return {};
  return write_durably(file_of(state_dir), fmt::format("{}\n{}\n", id, kJournal));
}

}  // namespace holon::instance
