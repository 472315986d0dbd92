#include "instance/journal/instance_id.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <random>

#include "instance/basics/durable_file.hpp"
#include "instance/journal/mark.hpp"

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

Result<std::optional<InstanceId>> read_id_file(const std::string& state_dir) {
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

std::optional<InstanceId> known_by_mark(const std::string& state_dir) {
  const auto mark = read_mark(state_dir);
  if (!mark || !is_id(mark->id)) return std::nullopt;
  return InstanceId{mark->id, true};
}

std::string id_text(const InstanceId& known) {
  return known.id + "\n" + (known.has_journal ? kJournal + std::string("\n") : "");
}

}  // namespace

std::string new_instance_id() {
  std::random_device random;
  std::string id;
  while (id.size() < kDigits) id += fmt::format("{:08x}", static_cast<unsigned>(random()));
  return id;
}

Result<std::optional<InstanceId>> read_instance_id(const std::string& state_dir) {
  auto known = read_id_file(state_dir);
  if (known && *known) return known;
  if (auto by_mark = known_by_mark(state_dir)) return by_mark;
  return known;
}

Result<std::string> instance_id(const std::string& state_dir) {
  const auto known = read_instance_id(state_dir);
  if (!known) return tl::unexpected(known.error());
  const InstanceId its = *known ? **known : InstanceId{new_instance_id(), false};
  const auto written = read_id_file(state_dir);
  if (written && *written) return its.id;
  if (auto kept = write_durably(file_of(state_dir), id_text(its)); !kept)
    return tl::unexpected(kept.error());
  return its.id;
}

Status keep_instance_id(const std::string& state_dir, const std::string& id) {
  const auto known = read_id_file(state_dir);
  if (known && *known && (*known)->id == id && (*known)->has_journal) return {};
  return write_durably(file_of(state_dir), id_text({id, true}));
}

}  // namespace holon::instance
