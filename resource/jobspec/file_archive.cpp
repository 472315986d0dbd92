#include "resource/jobspec/file_archive.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text/utf8.hpp"
#include "resource/jobspec/base64.hpp"
#include "resource/jobspec/ordered_json.hpp"

namespace holon::resource {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Bits of st_mode, as POSIX and Linux have them on any machine.
constexpr std::uint32_t kPermissions = 0777;
constexpr std::uint32_t kKind = 0170000, kRegular = 0100000, kLink = 0120000, kFolder = 0040000;

// The key as a step of a JSON pointer.
std::string step(const std::string& key) {
  std::string text = "/";
  for (const char c : key) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return text;
}

tl::unexpected<Error> wrong_file(std::string what, std::string where) {
  return fail(Errc::invalid_argument, std::move(what), std::move(where));
}

// Reads st_mode: a regular file, and its permissions.
Result<std::uint32_t> mode_of(const OrderedJson& object, const std::string& where) {
  const auto found = object.find("mode");
  if (found == object.end() || !found->is_number_integer())
    return wrong_file("a file has a 'mode', a number as of stat(2): 33188 is a regular one, 0644",
                      where + "/mode");
  const auto value = found->get<std::int64_t>();
  const auto kind = value & std::int64_t{kKind};
  if (value < 0 || (kind != kRegular && kind != 0))
    return fail(Errc::unsupported,
                fmt::format("mode 0{:o} is that of a {}; regular files are accepted", value,
                            kind == kLink     ? "link"
                            : kind == kFolder ? "folder"
                                              : "special file"),
                where + "/mode");
  const auto rights = value & ~std::int64_t{kKind};
  if (rights > std::int64_t{kPermissions})
    return wrong_file(fmt::format("permissions 0{:o}; those up to 0777 are accepted", rights),
                      where + "/mode");
  return static_cast<std::uint32_t>(rights);
}

// The contents. Without an encoding they are a value, and the file is its text.
Result<std::string> data_of(const OrderedJson& object, const std::string& where) {
  const auto data = object.find("data"), encoding = object.find("encoding");
  if (data == object.end()) return std::string();
  if (encoding == object.end())
    return data->dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  const std::string name = encoding->is_string() ? encoding->get<std::string>() : encoding->dump();
  if (name != "utf-8" && name != "base64")
    return fail(Errc::unsupported,
                fmt::format("encoding {:.40}; utf-8, base64 and none are accepted", name),
                where + "/encoding");
  if (!data->is_string())
    return wrong_file(fmt::format("with encoding {} it is a text", name), where + "/data");
  if (name == "utf-8") return data->get<std::string>();
  auto bytes = from_base64(data->get_ref<const std::string&>());
  if (!bytes) return wrong_file("is not base64", where + "/data");
  return std::move(*bytes);
}

Result<AddedFile> file_of(std::string name, const OrderedJson& object, const std::string& where) {
  if (!object.is_object())
    return wrong_file("a file is an object of mode, encoding and data", where);
  if (auto good = check_added_name(name); !good) return wrong_file(good.error().what, where);
  auto mode = mode_of(object, where);
  if (!mode) return tl::unexpected(mode.error());
  auto data = data_of(object, where);
  if (!data) return tl::unexpected(data.error());
  const auto size = object.find("size");
  if (size != object.end() && *size != OrderedJson(data->size()))
    return wrong_file(
        fmt::format("says {:.40}, and there are {} bytes", size->dump(), data->size()),
        where + "/size");
  return AddedFile{std::move(name), *mode, std::move(*data)};
}

}  // namespace

Status check_added_name(std::string_view name) {
  const bool is_plain =
      !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!is_plain)
    return fail(Errc::invalid_argument,
                fmt::format("'{:.200}' is no name of a file in the job's folder; accepted is one "
                            "without '/' and control characters, and not '.' or '..'",
                            name));
  if (name.size() > kLongestAddedName)
    return fail(Errc::invalid_argument, fmt::format("a name of {} bytes; at most {} are accepted",
                                                    name.size(), kLongestAddedName));
  return {};
}

Status check_added_files(const std::vector<AddedFile>& files) {
  if (files.size() > kMostAddedFiles)
    return fail(Errc::out_of_range,
                fmt::format("{} files; at most {} are accepted", files.size(), kMostAddedFiles));
  std::size_t bytes = 0;
  std::set<std::string_view> names;
  for (const AddedFile& file : files) {
    if (!names.insert(file.name).second)
      return fail(Errc::invalid_argument, fmt::format("two files are called '{}'", file.name));
    bytes += file.data.size();
  }
  if (bytes <= kMostAddedBytes) return {};
  return fail(Errc::out_of_range,
              fmt::format("{} bytes in all; at most {} are accepted, and what is larger belongs "
                          "where the nodes see it",
                          bytes, kMostAddedBytes));
}

Result<std::vector<AddedFile>> read_file_archive(std::string_view json) {
  const OrderedJson archive = parse_ordered(json);
  std::vector<AddedFile> files;
  if (!archive.is_object() && !archive.is_array())
    return wrong_file("an object with a file a key is accepted, or an array of files", "");
  std::size_t number = 0;
  for (const auto& [key, object] : archive.items()) {
    const bool is_list = archive.is_array();
    const std::string where = is_list ? fmt::format("/{}", number++) : step(key);
    if (is_list && (!object.is_object() || !object.contains("path") || !object["path"].is_string()))
      return wrong_file("a file of an array has a 'path'", where);
    auto file = file_of(is_list ? object["path"].get<std::string>() : key, object, where);
    if (!file) return tl::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  if (auto good = check_added_files(files); !good) return tl::unexpected(good.error());
  return files;
}

std::string write_file_archive(const std::vector<AddedFile>& files) {
  OrderedJson archive = OrderedJson::object();
  for (const AddedFile& file : files) {
    OrderedJson object = {{"mode", file.mode | kRegular}, {"size", file.data.size()}};
    const bool is_text = is_utf8(file.data);
    if (!file.data.empty()) {
      object["encoding"] = is_text ? "utf-8" : "base64";
      object["data"] = is_text ? file.data : to_base64(file.data);
    }
    add_member(archive, file.name, std::move(object));
  }
  return archive.dump();
}

}  // namespace holon::resource
