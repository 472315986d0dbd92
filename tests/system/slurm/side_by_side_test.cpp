// The options of a script and of a command line, to a real Slurm and to `--translate --dry-run`:
// both mean the same job, or holon says that it does not take the option.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <sstream>

#include "places.hpp"  // written by CMake
#include "tests/system/private_slurm.hpp"

namespace holon::system_test {
namespace {

using Facts = std::map<std::string, std::string>;

constexpr const char* kDeclared =
    "GresTypes=gpu\nLicenses=matlab:4\nJobRequeue=0\n"
    "NodeName=n[1-4] CPUs=8 RealMemory=64000 Gres=gpu:4 Features=fast,big NodeAddr=127.0.0.1\n"
    "PartitionName=long Nodes=n[1-4]\n";

struct Pair {
  const char* script;  // behind #SBATCH
  const char* typed;   // on sbatch's command line
  const char* ours;    // on holon's; nullptr: the same
  const char* word;    // what holon says of an option that it does not take; "": it takes all
  std::string but;     // the fact that this option is about
};

// What is typed by its name in Slurm alone (--mem of a node) has its equal of holon's beside it.
const Pair kPairs[] = {
    {"-n 4", "", nullptr, "", ""},
    {"-n 4", "-n 2", nullptr, "", ""},
    {"-N 2", "", nullptr, "", ""},
    {"-N 2 -n 8", "-N 4", nullptr, "", ""},
    {"-N 2 -n 8", "-n 1", nullptr, "", ""},
    {"-N 3 -n 2", "", nullptr, "", ""},
    {"-N 2-2", "", nullptr, "", ""},
    {"-N 1-3", "", nullptr, "-N 1-3: ignored", "nodes"},
    {"-n 4 -N 3", "", nullptr, "", ""},
    {"-N 2 --ntasks-per-node=4", "", nullptr, "", ""},
    {"-N 2 --ntasks-per-node=4", "-N 3", nullptr, "", ""},
    {"-N 2 --ntasks-per-node=4", "-n 4", nullptr, "", ""},
    {"--ntasks-per-node=4", "", nullptr, "", ""},
    {"-n 6 --ntasks-per-node=2", "", nullptr, "", ""},
    {"-n 8 --ntasks-per-node=2", "-N 2", nullptr, "--ntasks-per-node=2: ignored", ""},
    {"-n 8 --ntasks-per-node=4 -N 2", "-n 6", nullptr, "", ""},
    {"-c 4", "", nullptr, "", ""},
    {"-n 2 --cpus-per-task=2", "-c 3", nullptr, "", ""},
    {"-n 2", "-c 2 -N 2", nullptr, "", ""},
    {"--mem=4G", "", nullptr, "", ""},
    {"--mem=4000", "-n 2", "-n 2 -N 1", "", ""},
    {"-N 2 --mem=4G", "--mem=2G", "-m 2G", "", ""},
    {"-N 2 -n 4 --mem=1G", "-N 1", nullptr, "", ""},
    {"-n 5 -N 2 --mem=1000", "", nullptr, "--mem=1000: ignored", "memory"},
    {"--mem=0", "", nullptr, "--mem=0: ignored", "memory"},
    {"--mem-per-cpu=1G -c 4", "", nullptr, "", ""},
    {"-n 2 -N 1 -c 4 --mem-per-cpu=500M", "-c 2", nullptr, "", ""},
    {"--gres=gpu:2", "", nullptr, "", ""},
    {"--gres=gpu:2", "-N 2", nullptr, "", ""},
    {"--gpus=4 -n 4", "", nullptr, "", ""},
    {"--gpus=4 -n 2", "-n 4", nullptr, "", ""},
    {"-G 3 -n 2", "", nullptr, "-G 3: ignored", "gpus"},
    {"--gpus-per-task=1 -n 2", "", nullptr, "", ""},
    {"--gpus-per-task=1 -n 2", "--gpus-per-task=2", "-g 2", "", ""},
    {"--gpus-per-node=4 -N 2 -n 4", "-n 8", nullptr, "", ""},
    {"-t 30", "", nullptr, "", ""},
    {"-t 30", "-t 1:00:00", nullptr, "", ""},
    {"-t 1-12", "--time=10:30", nullptr, "", ""},
    {"--time=1:30:61", "", nullptr, "", ""},
    {"-t 2", "-t 0", nullptr, "", ""},
    {"-t UNLIMITED", "", nullptr, "", ""},
    {"--time-min=10 -t 30", "", nullptr, "--time-min=10: ignored", ""},
    {"--begin=2030-01-01T10:00", "", nullptr, "", ""},
    {"--begin=2030-01-01", "", nullptr, "", ""},
    {"--begin=now+1hour", "", nullptr, "", ""},
    {"--begin=tomorrow", "", nullptr, "--begin=tomorrow: ignored", "begin"},
    {"-d afterany:1", "", nullptr, "", ""},
    {"-d afterok:1,afterany:2", "-d afternotok:3", nullptr, "", ""},
    {"-d after:1+5", "", nullptr, "-d after:1+5: ignored", "dependency"},
    {"--nice=100", "", nullptr, "--nice=100: ignored", "nice"},
    {"--array=1,3,5-7%2", "", nullptr, "", ""},
    {"--array=1,3,5", "--array=2,4", nullptr, "", ""},
    {"--exclusive", "", nullptr, "", ""},
    {"-N 2 --exclusive", "-N 3", nullptr, "", ""},
    {"-n 2 --exclusive", "", nullptr, "--exclusive: ignored", "exclusive"},
    {"--hint=nomultithread", "", nullptr, "", ""},
    {"--hint=multithread", "", nullptr, "--hint=multithread: ignored", ""},
    {"-C fast", "", nullptr, "", ""},
    {"-C fast&big", "", nullptr, "", ""},
    {"-C fast", "-C big", "--requires big", "", ""},
    {"-C [fast*1&big*1] -N 2", "", nullptr, "ignored", "features"},
    {"-J fit", "-J fit2", nullptr, "", ""},
    {"-o out-%j.txt -e err.txt", "-o %x.log", "-o '{{name}}.log'", "", ""},
    {"-D /tmp -o a/b", "", nullptr, "", ""},
    {"--chdir=/tmp", "", nullptr, "", ""},
    {"--signal=USR1@60 -t 5", "", nullptr, "", ""},
    {"--requeue", "", nullptr, "", ""},
    {"--no-requeue", "", nullptr, "", ""},
    {"-w n1", "", nullptr, "", ""},
    {"-w n[1-2]", "", nullptr, "", ""},
    {"-w n[1-2] -n 4", "", nullptr, "", ""},
    {"-x n4", "", nullptr, "", ""},
    {"-p long -t 5", "", nullptr, "", ""},
    {"-A acct", "-A other", nullptr, "", ""},
    {"-L matlab:2", "", nullptr, "", ""},
    {"-s", "", nullptr, "-s: ignored", "exclusive"},
    {"--contiguous", "", nullptr, "--contiguous: ignored", ""},
    {"--mincpus=4", "", nullptr, "--mincpus=4: ignored", ""},
    {"-O -n 16", "", nullptr, "-O: ignored", "cpus"},
    {"--comment=hi", "", nullptr, "--comment=hi: ignored", ""},
};

// ---- what Slurm understood ----

// "Name=value" of one line of `scontrol -o show job`.
Facts fields_of(const std::string& line) {
  Facts fields;
  std::istringstream in(line);
  for (std::string word; in >> word;)
    if (const auto equals = word.find('='); equals != std::string::npos) {
      const std::string value = word.substr(equals + 1);
      fields[word.substr(0, equals)] = value == "(null)" || value == "N/A" ? "" : value;
    }
  return fields;
}

// "4G", "500M", "4000M", "0" in MiB.
std::int64_t mebibytes_of(const std::string& text) {
  if (text.empty()) return 0;
  const double number = std::stod(text);
  return static_cast<std::int64_t>(text.back() == 'G' ? number * 1024 : number);
}

// "1-12:00:00" in minutes.
std::string minutes_of(const std::string& text) {
  if (text == "UNLIMITED") return "0";
  int days = 0, hours = 0, minutes = 0;
  if (text.find('-') == std::string::npos)
    sscanf(text.c_str(), "%d:%d", &hours, &minutes);
  else
    sscanf(text.c_str(), "%d-%d:%d", &days, &hours, &minutes);
  return std::to_string((days * 24 + hours) * 60 + minutes);
}

std::string epoch_of(const std::string& text) {
  std::tm when{};
  if (strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &when) == nullptr) return "";
  when.tm_isdst = -1;
  return std::to_string(mktime(&when));
}

std::int64_t number_behind(const std::string& text) {
  const auto at = text.rfind(':');
  return at == std::string::npos ? 0 : std::stoll(text.substr(at + 1));
}

std::string with(std::string text, const std::string& word, const std::string& instead) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word))
    text.replace(at, word.size(), instead);
  return text;
}

Facts facts_of_slurm(Facts job) {
  Facts facts;
  const std::string nodes = job["NumNodes"];
  const auto dash = nodes.find('-');
  const std::string least = nodes.substr(0, dash);
  const std::int64_t count = std::stoll(least);
  const std::int64_t cpus = std::stoll(job["NumCPUs"]), tasks = std::stoll(job["NumTasks"]);
  facts["nodes"] = dash == std::string::npos         ? "about " + nodes
                   : nodes.substr(dash + 1) == least ? least
                                                     : nodes;
  facts["tasks"] = job["NumTasks"];
  facts["cpus"] = std::to_string(cpus);
  facts["cpus per task"] = job["CPUs/Task"];
  facts["memory"] = std::to_string(mebibytes_of(job["MinMemoryNode"]) * count +
                                   mebibytes_of(job["MinMemoryCPU"]) * cpus);
  facts["gpus"] =
      std::to_string(number_behind(job["TresPerJob"]) + number_behind(job["TresPerNode"]) * count +
                     number_behind(job["TresPerTask"]) * tasks);
  facts["minutes"] = minutes_of(job["TimeLimit"]);
  facts["name"] = job["JobName"];
  facts["folder"] = job["WorkDir"];
  facts["output"] = with(job["StdOut"], "//", "/");
  facts["error"] = with(job["StdErr"], "//", "/");
  facts["begin"] = epoch_of(job["EligibleTime"]);
  facts["dependency"] = with(job["Dependency"], "(unfulfilled)", "");
  facts["features"] = job["Features"];
  facts["hosts"] = job["ReqNodeList"];
  facts["not on"] = job["ExcNodeList"];
  facts["licenses"] = job["Licenses"];
  facts["array"] = job["ArrayTaskId"].substr(0, job["ArrayTaskId"].find('%'));
  facts["at a time"] = job["ArrayTaskThrottle"].empty() ? "0" : job["ArrayTaskThrottle"];
  facts["exclusive"] = job["OverSubscribe"];
  facts["queue"] = job["Partition"] == "main" ? "" : job["Partition"];
  facts["account"] = job["Account"];
  facts["requeue"] = job["Requeue"];
  facts["nice"] = job["Nice"];
  return facts;
}

// ---- what holon understood ----

void add_constraints(const nlohmann::json& constraint, Facts& facts) {
  for (const auto& [op, values] : constraint.items()) {
    if (op == "and")
      for (const auto& one : values) add_constraints(one, facts);
    if (op == "properties")
      for (const auto& value : values)
        facts["features"] += (facts["features"].empty() ? "" : "&") + value.get<std::string>();
    if (op == "hostlist") facts["hosts"] = values[0].get<std::string>();
    if (op == "not") facts["not on"] = values[0]["hostlist"][0].get<std::string>();
  }
}

void add_resources(const nlohmann::json& jobspec, Facts& facts) {
  const auto& top = jobspec["resources"][0];
  const bool has_nodes = top["type"] == "node";
  const auto& slot = has_nodes ? top["with"][0] : top;
  const std::int64_t nodes = has_nodes ? top["count"].get<std::int64_t>() : 0;
  const auto& count = jobspec["tasks"][0]["count"];
  const std::int64_t tasks = count.contains("total") ? count["total"].get<std::int64_t>()
                                                     : slot["count"].get<std::int64_t>() *
                                                           std::max<std::int64_t>(nodes, 1);
  std::int64_t cores = 0, gpus = 0;
  for (const auto& part : slot["with"]) {
    if (part["type"] == "core") cores = part["count"].get<std::int64_t>();
    if (part["type"] == "gpu") gpus = part["count"].get<std::int64_t>();
  }
  const auto& ours = jobspec["attributes"]["system"]["holon"];
  const std::int64_t memory = ours.value("memory", std::int64_t{0}) >> 20;
  facts["nodes"] = has_nodes ? std::to_string(nodes) : "";
  facts["tasks"] = std::to_string(tasks);
  facts["cpus"] = std::to_string(tasks * cores);
  facts["cpus per task"] = std::to_string(cores);
  facts["memory"] = std::to_string(memory * tasks);
  facts["gpus"] = std::to_string(gpus * tasks);
  facts["exclusive"] = top.value("exclusive", false) ? "NO" : "OK";
}

Facts facts_of_holon(const std::string& text) {
  Facts facts;
  const auto jobspec = nlohmann::json::parse(text);
  add_resources(jobspec, facts);
  const auto& system = jobspec["attributes"]["system"];
  const auto& ours = system["holon"];
  const double seconds = system.value("duration", 0.0);
  facts["minutes"] = std::to_string((static_cast<std::int64_t>(seconds) + 59) / 60);
  facts["name"] = system["job"].value("name", "");
  facts["folder"] = system.value("cwd", "");
  facts["queue"] = system.value("queue", "");
  facts["account"] = system.value("bank", "");
  facts["requeue"] = ours.value("requeue", 0) > 0 ? "1" : "0";
  facts["nice"] = "0";
  for (const auto& [name, stream] : {std::pair("output", "stdout"), {"error", "stderr"}})
    facts[name] = with(
        system.value(
            nlohmann::json::json_pointer(fmt::format("/shell/options/output/{}/path", stream)), ""),
        "{{name}}", facts["name"]);
  for (const auto& one : system.value("dependencies", nlohmann::json::array())) {
    const std::string scheme = one["scheme"], value = one["value"];
    if (scheme == "begin-time")
      facts["begin"] = value.substr(0, value.find('.'));
    else
      facts["dependency"] += (facts["dependency"].empty() ? "" : ",") + scheme + ":" + value;
  }
  if (system.contains("constraints")) add_constraints(system["constraints"], facts);
  const auto licenses = ours.value("licenses", nlohmann::json::object());
  for (const auto& [name, count] : licenses.items())
    facts["licenses"] = fmt::format("{}:{}", name, count.get<std::int64_t>());
  const auto array = ours.value("array", nlohmann::json::object());
  facts["array"] = array.value("indices", "");
  facts["at a time"] = std::to_string(array.value("max_running", 0));
  return facts;
}

// ---- the two side by side ----

class SideBySide : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = PrivateSlurm::missing(); !why.empty()) GTEST_SKIP() << why;
    slurm_ = std::make_unique<PrivateSlurm>(sandbox_, kDeclared);
    ASSERT_TRUE(slurm_->up());
  }

  // The words of a line are split by a shell.
  Ran shell(const std::string& line) {
    return Process({"/bin/sh", "-c", "holon() { \"$0\" \"$@\"; }; " + line, HOLON_BINARY},
                   sandbox_.environment(), sandbox_.folder())
        .finish();
  }

  void ask_slurm(const Pair& pair) {
    sandbox_.write_file("a.sh", fmt::format("#!/bin/sh\n#SBATCH {}\ntrue\n", pair.script), true);
    const Ran made = shell(fmt::format("sbatch --hold --parsable {} ./a.sh", pair.typed));
    const std::string id = made.out.substr(0, made.out.find('\n'));
    ASSERT_EQ(made.code, 0) << pair.script << ": " << made.err;
    theirs_ = facts_of_slurm(fields_of(shell("scontrol -o show job " + id).out));
    const std::string script = std::string(" ") + pair.script;
    if (script.find(" -t") == std::string::npos && script.find(" --time=") == std::string::npos)
      theirs_["minutes"] = "0";  // the partition's
    // Without a file of its own a job's output is Slurm's to name, and holon's to keep.
    if (script.find(" -o ") == std::string::npos) theirs_["output"].clear();
    if (script.find(" -e ") == std::string::npos) theirs_["error"].clear();
    theirs_["output"] = with(theirs_["output"], "-" + id + ".", "-{{id}}.");
  }

  // What is equal though it is said otherwise.
  static bool is_same(const std::string& name, const Facts& theirs, const Facts& ours) {
    const std::string a = at(theirs, name), b = at(ours, name);
    if (name == "nodes" && a.starts_with("about "))
      return b.empty() || a == "about " + b;  // as many as the tasks need
    if (name == "memory") {                   // rounded up to MiB for each task
      const auto more = std::stoll(b) - std::stoll(a);
      return more >= 0 && more < std::stoll(at(ours, "tasks"));
    }
    if (name == "begin" && !a.empty() && !b.empty())  // of now+1hour, a moment later
      return std::abs(std::stoll(a) - std::stoll(b)) < 60;
    return a == b;
  }
  static std::string at(const Facts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? "" : found->second;
  }

  void compare(const Pair& pair, const std::string& verb) {
    const Ran ran = shell(fmt::format("holon {} --translate --dry-run {} ./a.sh", verb,
                                      pair.ours != nullptr ? pair.ours : pair.typed));
    SCOPED_TRACE(fmt::format("#SBATCH {} and {} '{}': {}", pair.script, verb, pair.typed, ran.err));
    const bool is_said = ran.err.find("ignored;") != std::string::npos || ran.code != 0;
    EXPECT_EQ(is_said, *pair.word != '\0');
    EXPECT_NE(ran.err.find(pair.word), std::string::npos) << pair.word;
    ASSERT_EQ(ran.code, 0);
    Facts ours;
    try {
      ours = facts_of_holon(ran.out);
    } catch (const nlohmann::json::exception& why) {
      FAIL() << why.what() << "\n" << ran.out;
    }
    for (const auto& [name, value] : theirs_) {
      if (pair.but == name) continue;
      EXPECT_TRUE(is_same(name, theirs_, ours))
          << name << ": '" << value << "' there, '" << at(ours, name) << "' here";
    }
  }

  Sandbox sandbox_;
  std::unique_ptr<PrivateSlurm> slurm_;
  Facts theirs_;
};

TEST_F(SideBySide, EachPairOfOptionsIsTheSameJobOrRefusedWithAWord) {
  for (const Pair& pair : kPairs) {
    ask_slurm(pair);
    if (HasFatalFailure()) return;
    compare(pair, "submit");
    // An instance is no array, and its jobs are run again, not itself.
    const std::string script = pair.script;
    if (script.find("--array") == std::string::npos &&
        script.find("--requeue") == std::string::npos)
      compare(pair, "batch");
  }
}

}  // namespace
}  // namespace holon::system_test
