// SPDX-License-Identifier: MIT
#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "hiptool/error.hpp"
#include "load/read/direct_reader.hpp"

namespace hiptool::load {
namespace {

// Each request owns one buffer for as long as it is in flight.
class UringReader final : public DirectReader {
 public:
  UringReader(std::uint32_t depth, std::uint64_t request_bytes)
      : request_bytes_(request_bytes),
        buffer_(depth * (request_bytes + request_slack_bytes)),
        requests_(depth) {
    for (std::uint32_t i = 0; i < depth; ++i) {
      requests_[i].data = buffer_.data() + i * (request_bytes + request_slack_bytes);
      idle_.push_back(&requests_[i]);
    }
  }

  ~UringReader() override {
    if (is_ready_) io_uring_queue_exit(&ring_);
  }

  // 0, or what the kernel answered.
  int start() {
    const int error = -io_uring_queue_init(static_cast<unsigned>(requests_.size()), &ring_, 0);
    is_ready_ = error == 0;
    return error;
  }

  DirectResult read(const Range& range, const Take& take,
                    const std::function<void()>& check) override {
    range_ = range;
    next_ = range.bytes.offset;
    result_ = {0, range.wanted_end, true};
    try {
      while (is_going_on() || in_flight_ > 0) {
        while (is_going_on() && !idle_.empty()) {
          check();
          send_next();
        }
        submit();
        if (in_flight_ > 0) receive(take);
      }
    } catch (...) {
      settle();
      throw;
    }
    return result_;
  }

  const char* name() const noexcept override { return "io_uring"; }

 private:
  struct Request {
    std::byte* data = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
  };

  bool is_going_on() const { return result_.reached_wanted && next_ < range_.wanted_end; }

  void send(Request& request) {
    // There are as many entries as requests, so one is free.
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    io_uring_prep_read(entry, range_.descriptor, request.data,
                       static_cast<unsigned>(request.size_bytes), request.offset);
    io_uring_sqe_set_data(entry, &request);
    ++in_flight_;
  }

  void send_next() {
    Request& request = *idle_.back();
    idle_.pop_back();
    request.offset = next_;
    request.size_bytes = next_request(range_.bytes.end() - next_, request_bytes_);
    next_ += request.size_bytes;
    send(request);
  }

  void submit() {
    for (unsigned waiting = io_uring_sq_ready(&ring_); waiting > 0;) {
      const int sent = io_uring_submit(&ring_);
      if (sent == -EINTR || sent == -EAGAIN || sent == -EBUSY) continue;
      if (sent < 0) throw failure("io_uring_submit", -sent);
      waiting -= std::min(waiting, static_cast<unsigned>(sent));
    }
  }

  io_uring_cqe* wait() {
    for (;;) {
      io_uring_cqe* entry = nullptr;
      const int error = io_uring_wait_cqe(&ring_, &entry);
      if (error == 0) return entry;
      if (error != -EINTR && error != -EAGAIN) throw failure("io_uring_wait_cqe", -error);
    }
  }

  void receive(const Take& take) {
    io_uring_cqe* entry = wait();
    Request& request = *static_cast<Request*>(io_uring_cqe_get_data(entry));
    const int got = entry->res;
    io_uring_cqe_seen(&ring_, entry);
    --in_flight_;
    if (got == -EINTR || got == -EAGAIN) {
      send(request);
      return;
    }
    idle_.push_back(&request);
    if (got <= 0) {
      end(-got, request.offset);
      return;
    }
    const auto bytes = static_cast<std::uint64_t>(got);
    take(request.offset, {request.data, bytes});
    const std::uint64_t reached = request.offset + bytes;
    if (bytes == request.size_bytes || reached >= range_.wanted_end) return;
    if (reached % 512 != 0) {  // inside a block: the end of the file
      end(0, reached);
      return;
    }
    idle_.pop_back();
    request.offset = reached;
    request.size_bytes -= bytes;
    send(request);
  }

  // The lowest offset is the one to name; an error counts more than an early end.
  void end(int error, std::uint64_t offset) {
    if (offset >= range_.wanted_end && error == 0) return;
    const bool is_first = result_.reached_wanted || offset < result_.read_end;
    if (result_.error == 0 ? error != 0 || is_first : error != 0 && is_first) {
      result_ = {error, offset, false};
    }
  }

  static Error failure(const char* call, int number) {
    return Error(ErrorCode::input_failed, call,
                 std::string(call) + ": " + std::generic_category().message(number),
                 "try reading through the page cache");
  }

  // Buffers must not go while the kernel writes to them.
  void settle() noexcept {
    try {
      submit();
      for (; in_flight_ > 0; --in_flight_) {
        io_uring_cqe* entry = wait();
        idle_.push_back(static_cast<Request*>(io_uring_cqe_get_data(entry)));
        io_uring_cqe_seen(&ring_, entry);
      }
    } catch (...) {
      buffer_.abandon();
      in_flight_ = 0;
    }
  }

  std::uint64_t request_bytes_;
  BounceBuffer buffer_;
  std::vector<Request> requests_;
  std::vector<Request*> idle_;
  io_uring ring_{};
  bool is_ready_ = false;
  std::uint32_t in_flight_ = 0;
  Range range_;
  std::uint64_t next_ = 0;
  DirectResult result_;
};

}  // namespace

std::unique_ptr<DirectReader> make_uring_reader(std::uint32_t depth, std::uint64_t request_bytes,
                                                std::string& why) {
  auto reader = std::make_unique<UringReader>(depth, request_bytes);
  if (const int error = reader->start(); error != 0) {
    why = "io_uring: " + std::generic_category().message(error);
    return nullptr;
  }
  return reader;
}

}  // namespace hiptool::load
