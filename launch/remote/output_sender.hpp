// output_sender.hpp - the output of jobs on a node that does not see the broker's files: written to
// files here, and handed to the broker before the job's end is reported.
//
// The files have no other limit than job.output-limit; in memory is one piece of each file that is
// being sent, and of a few files at a time.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "launch/messages.hpp"
#include "launch/remote/output_messages.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

class OutputSender {
 public:
  // Does this process see the files that the broker does?
  static bool sees(const msg::FilesReply& files);

  // `folder`: of the broker's output files. `former`: where a killed agent kept what it had not
  // handed over, which this one hands over; "": nowhere. `broker` must outlive it. Errors: system
  // (there is no place for files here).
  static Result<std::unique_ptr<OutputSender>> create(transport::Reactor& reactor,
                                                      transport::Client& broker, std::string folder,
                                                      const std::string& former = "");
  ~OutputSender();  // loses what was not sent
  OutputSender(const OutputSender&) = delete;
  OutputSender& operator=(const OutputSender&) = delete;

  // The folder of the files.
  const std::string& own_folder() const { return own_; }

  // Moves output files here that the instance has named. Others stay.
  void take_over(msg::Start& start) const;
  // The tasks have written all: it is sent, and the loop calls `done`. False: none of their output
  // is kept here, and `done` is not called.
  bool deliver(const msg::Start& start, std::function<void()> done);
  // The broker accepts this agent's messages (again): sends what waits, even what the broker could
  // not write before. Nothing is sent before the first call.
  void resume();
  // The broker is gone; what it has not answered is sent to the next one.
  void pause() { is_open_ = false; }
  // No broker will come any more: whatever waits is done.
  void give_up();

 private:
  struct Delivery {
    std::function<void()> done;
    std::size_t files = 0;  // that are not finished yet
  };
  struct File {
    std::shared_ptr<Delivery> of;
    msg::KeepRequest next;  // the piece being sent, or to be sent next
    std::string path;
    transport::UniqueFd fd;
    std::uint64_t taken = 0;  // bytes of the file that the broker had taken when it was put off
    std::uint64_t begin = 0;  // offset in the broker's file of the first byte after these
    bool knows_begin = false;
    std::shared_ptr<const bool> on_its_way;  // until the answer comes
  };
  using Stream = std::pair<std::uint64_t, bool>;  // the job; is it standard error?
  static Stream stream_of(const File& file) { return {file.next.job, file.next.error}; }

  OutputSender(transport::Reactor& reactor, transport::Client& broker, std::string folder,
               std::string own)
      : reactor_(reactor), broker_(broker), folder_(std::move(folder)), own_(std::move(own)) {}
  void add(const msg::Start& start, bool error, const std::shared_ptr<Delivery>& delivery);
  void take_left();
  void send_some();
  void send(std::list<File>::iterator file);
  void answered(std::list<File>::iterator file, const Result<std::string>& answer);
  void put_off(std::list<File>::iterator file);
  bool waits_for_one_put_off(const File& file) const;
  void try_again();
  void end(std::list<File>::iterator file);

  transport::Reactor& reactor_;
  transport::Client& broker_;
  std::string folder_, own_;
  // In the order of the jobs' ends; only the first file of each stream has been sent in part.
  std::list<File> files_;
  // Files that the broker could not write, and late ones that come after one of these.
  std::list<File> put_off_;
  std::set<Stream> put_off_streams_;
  // Streams of files being sent. The next file of a stream begins at the end of the one before,
  // which is known only when that is finished.
  std::set<Stream> busy_;
  transport::Subscription again_;  // for files that were put off
  bool is_open_ = false;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace holon::launch
