#include "launch/remote/output_note.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/whole_file.hpp"

namespace holon::launch {
namespace {

constexpr std::size_t kLongestNote = 4096;

std::string note_in(const std::string& runtime_dir) {
  return runtime_dir + "/output-folder";
}

}  // namespace

void note_output_folder(const std::string& runtime_dir, const std::string& folder) {
  if (noted_output_folder(runtime_dir) == folder) return;
  std::ofstream(note_in(runtime_dir), std::ios::binary) << folder;
}

std::string noted_output_folder(const std::string& runtime_dir) {
  const auto folder = read_regular_file(note_in(runtime_dir), kLongestNote);
  if (!folder) return "";
  struct stat info {};
  const bool is_ours =
      std::filesystem::path(*folder).filename().string().starts_with(kOutputFolder) &&
      lstat(folder->c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
  return is_ours ? *folder : "";
}

void remove_noted_output(const std::string& runtime_dir) {
  const std::string folder = noted_output_folder(runtime_dir);
  std::error_code ignored;
  if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  std::filesystem::remove(note_in(runtime_dir), ignored);
}

}  // namespace holon::launch
