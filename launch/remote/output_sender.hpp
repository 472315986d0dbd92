// output_sender.hpp - the output of jobs on a node that does not see the broker's files: it is
// written to files here, and each job's is handed to the broker before its end is told.
//
// The files have no other limit than job.output-limit; in memory there is one piece of each file
// that is being sent, and of a few files at a time.
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

  // `folder`: of the broker's output files. `former`: where an agent that was killed kept what it
  // had still to hand over, which this one does; "": nowhere. `broker` must outlive it. Errors:
  // system (there is no place for files here).
  static Result<std::unique_ptr<OutputSender>> create(transport::Reactor& reactor,
                                                      transport::Client& broker, std::string folder,
                                                      const std::string& former = "");
  ~OutputSender();  // what was not sent is lost
  OutputSender(const OutputSender&) = delete;
  OutputSender& operator=(const OutputSender&) = delete;

  // Where the files are.
  const std::string& own_folder() const { return own_; }

  // Of a job whose output the instance has named the files: they are here. Others stay.
  void take_over(msg::Start& start) const;
  // The tasks have written all: it is sent, and `done` is called by the loop. False: they have
  // written nothing that is kept here, and `done` is not called.
  bool deliver(const msg::Start& start, std::function<void()> done);
  // The broker takes what this agent says, or does so again: what waits is sent, also what it could
  // not write before. Before the first time nothing is.
  void resume();
  // The broker is gone, and what it has not answered is said to the next one.
  void pause() { is_open_ = false; }
  // There will be none any more: whatever waits is done.
  void give_up();

 private:
  struct Delivery {
    std::function<void()> done;
    std::size_t files = 0;  // that are not through yet
  };
  struct File {
    std::shared_ptr<Delivery> of;
    msg::KeepRequest next;  // the piece that is sent, or will be
    std::string path;
    transport::UniqueFd fd;
    std::uint64_t taken = 0;  // bytes of it that the broker had taken when it was put off
    std::uint64_t begin = 0;  // offset in the broker's file of the first byte behind these
    bool knows_begin = false;
    std::shared_ptr<const bool> on_its_way;  // until the answer comes
  };
  using Stream = std::pair<std::uint64_t, bool>;  // the job, and whether it is standard error
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
  // In the order of the jobs' ends; of each stream only the first one has been sent in part.
  std::list<File> files_;
  // The broker could not write these, or they are late as well and go behind one of these.
  std::list<File> put_off_;
  std::set<Stream> put_off_streams_;
  // Of files that are on their way. Another file of the same stream goes behind the end of the one
  // before, which is known only when that is through.
  std::set<Stream> busy_;
  transport::Subscription again_;  // for files that were put off
  bool is_open_ = false;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace holon::launch
