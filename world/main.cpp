// holon_world --seeds A..B [--plant FAULT] [--edition N] [--history], or --plants. world/README.md
// says more.
#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "world/world.hpp"

namespace {

namespace world = holon::world;

struct Asked {
  std::uint64_t first = 1, last = 100;
  world::Plant plant = world::Plant::none;
  int edition = world::kEdition;
  bool lists_plants = false, shows_history = false;
};

int wrong(const std::string& what) {
  fmt::print(stderr,
             "holon_world: {}\n"
             "usage: holon_world --seeds A..B [--plant FAULT] [--edition N] [--history]\n"
             "       holon_world --plants\n",
             what);
  return 2;
}

std::optional<std::string> read_arguments(const std::vector<std::string>& words, Asked& asked) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string value = i + 1 < words.size() ? words[i + 1] : "";
    if (words[i] == "--plants") {
      asked.lists_plants = true;
    } else if (words[i] == "--history") {
      asked.shows_history = true;
    } else if (words[i] == "--seeds") {
      const auto dots = value.find("..");
      char* end = nullptr;
      asked.first = std::strtoull(value.c_str(), &end, 10);
      const bool begins = end != value.c_str();
      asked.last = dots == std::string::npos ? asked.first
                                             : std::strtoull(value.c_str() + dots + 2, &end, 10);
      if (!begins || *end != '\0' || asked.last < asked.first)
        return "--seeds " + value + ": a number or two, as in 1..300";
      ++i;
    } else if (words[i] == "--plant") {
      const auto plant = world::plant_named(value);
      if (!plant) return "--plant " + value + ": no such fault; --plants lists them";
      asked.plant = *plant;
      ++i;
    } else if (words[i] == "--edition") {
      asked.edition = std::atoi(value.c_str());
      if (asked.edition < 1 || asked.edition > world::kEdition)
        return "--edition " + value + ": a number from 1 to " + std::to_string(world::kEdition);
      ++i;
    } else {
      return words[i] + ": no such option";
    }
  }
  return std::nullopt;
}

// A folder on the fastest disk there is: nothing of a world is meant to stay.
std::string some_folder() {
  const char* const chosen = std::getenv("TMPDIR");
  const std::string base = access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                           : chosen != nullptr           ? chosen
                                                         : "/tmp";
  std::string name = base + "/holon-world-XXXXXX";
  return mkdtemp(name.data()) != nullptr ? name : "";
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  if (const auto trouble = read_arguments({argv + 1, argv + argc}, asked)) return wrong(*trouble);
  if (asked.lists_plants) {
    for (const auto& plant : world::all_plants()) fmt::print("{:<18} {}\n", plant.name, plant.what);
    return 0;
  }
  spdlog::set_level(spdlog::level::off);
  const std::string dir = some_folder();
  if (dir.empty()) return wrong("there is no folder for temporary files");
  std::uint64_t failures = 0;
  for (std::uint64_t seed = asked.first; seed <= asked.last; ++seed) {
    const auto outcome = world::run_seed(seed, asked.plant, dir + "/w", asked.edition);
    const bool failed = !outcome.violation.empty();
    failures += failed ? 1 : 0;
    if (failed || asked.shows_history) {
      for (const auto& line : outcome.history) fmt::print("{}\n", line);
      fmt::print("seed {}: {} steps, {} messages, {} jobs, {} instances: {}\n", seed, outcome.steps,
                 outcome.messages, outcome.jobs, outcome.instances,
                 failed ? outcome.violation : "nothing wrong");
      std::fflush(stdout);  // a failure of a long run is read while the run goes on
    }
  }
  std::filesystem::remove_all(dir);
  fmt::print("{} seeds, {} failures\n", asked.last - asked.first + 1, failures);
  return failures == 0 ? 0 : 1;
}
