// file_archive.hpp - small files that go along with a job: attributes.system.files of a jobspec, in
// the File Archive Format (RFC 37), as values.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::resource {

struct AddedFile {
  std::string name;           // within the job's folder: no path
  std::uint32_t mode = 0600;  // permissions, of 0777
  std::string data;
  bool operator==(const AddedFile&) const = default;
};

// Bounds for one job: larger files belong on a file system that the nodes share.
inline constexpr std::size_t kMostAddedBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostAddedFiles = 256;
inline constexpr std::size_t kLongestAddedName = 255;  // bytes

// Check a name, and files. Errors: invalid_argument, with what was found and what is accepted: a
// name that is more than a name, two files of one name; out_of_range: too many, or too much in all.
Status check_added_name(std::string_view name);
Status check_added_files(const std::vector<AddedFile>& files);

// Reads `json`: an object with a file a key, or an array. Regular files only, their contents in it.
// Errors: those of check_added_files, invalid_argument and unsupported (folders, links, contents
// that are elsewhere), all with the pointer below attributes.system.files. O(bytes).
Result<std::vector<AddedFile>> read_file_archive(std::string_view json);
// Writes an object; text as it is, other bytes in base64. read_file_archive() of it gives the same.
std::string write_file_archive(const std::vector<AddedFile>& files);

}  // namespace holon::resource
