// SPDX-License-Identifier: MIT
#include "model_writer/model_writer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "base/output_file.hpp"
#include "hiptool/error.hpp"
#include "model_writer/writer_plan.hpp"

namespace hiptool::model_writer {
namespace {

constexpr std::uint64_t slice_bytes = std::uint64_t{8} << 20;
constexpr std::chrono::milliseconds progress_interval{50};

/// Writes the data of one file in slices on several threads.
class DataWriter {
 public:
  /// Bytes of files that are already written come before, for the progress.
  DataWriter(const PlannedFile& plan, base::OutputFile& file, std::uint64_t before_bytes,
             std::uint64_t total_bytes)
      : plan_(plan), file_(file), before_bytes_(before_bytes), total_bytes_(total_bytes) {}

  void write_all(const ModelWriterOptions& options);

 private:
  std::uint64_t slices() const { return (plan_.data_bytes + slice_bytes - 1) / slice_bytes; }
  void work(const CancelToken* cancel);
  void work_on_slices(const CancelToken* cancel);
  void fill(std::span<std::byte> slice, std::uint64_t offset) const;
  void watch(const ModelWriterOptions& options, std::size_t workers);

  const PlannedFile& plan_;
  base::OutputFile& file_;
  std::uint64_t before_bytes_;
  std::uint64_t total_bytes_;
  std::atomic<std::uint64_t> next_slice_{0};
  std::atomic<std::uint64_t> done_bytes_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t finished_workers_ = 0;  // guarded by mutex_
  std::exception_ptr failure_;        // guarded by mutex_
};

void DataWriter::fill(std::span<std::byte> slice, std::uint64_t offset) const {
  auto tensor = std::ranges::upper_bound(plan_.tensors, offset, {}, &PlannedTensor::offset);
  if (tensor != plan_.tensors.begin()) --tensor;
  const std::uint64_t end = offset + slice.size();
  std::uint64_t position = offset;
  const auto piece_to = [&](std::uint64_t until) {
    return slice.subspan(static_cast<std::size_t>(position - offset),
                         static_cast<std::size_t>(until - position));
  };
  for (; tensor != plan_.tensors.end() && tensor->offset < end; ++tensor) {
    const std::uint64_t tensor_end = tensor->offset + tensor->size_bytes;
    if (tensor_end <= position) continue;
    if (tensor->offset > position) {
      std::ranges::fill(piece_to(tensor->offset), std::byte{0});
      position = tensor->offset;
    }
    const std::uint64_t until = std::min(end, tensor_end);
    tensor->pattern.fill(piece_to(until), position - tensor->offset);
    position = until;
  }
  std::ranges::fill(piece_to(end), std::byte{0});
}

void DataWriter::work_on_slices(const CancelToken* cancel) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(slice_bytes, plan_.data_bytes)));
  for (;;) {
    if (cancel != nullptr) cancel->throw_if_cancelled("make-model");
    const std::uint64_t index = next_slice_.fetch_add(1);
    if (index >= slices()) return;
    const std::uint64_t offset = index * slice_bytes;
    const std::uint64_t size = std::min(slice_bytes, plan_.data_bytes - offset);
    const std::span<std::byte> slice(buffer.data(), static_cast<std::size_t>(size));
    fill(slice, offset);
    file_.write_at(slice, plan_.header.size() + offset);
    done_bytes_.fetch_add(size);
  }
}

void DataWriter::work(const CancelToken* cancel) {
  std::exception_ptr failure;
  try {
    work_on_slices(cancel);
  } catch (...) {
    failure = std::current_exception();
    next_slice_ = slices();  // the others stop at their next slice
  }
  const std::lock_guard lock(mutex_);
  if (failure && !failure_) failure_ = failure;
  ++finished_workers_;
  changed_.notify_one();
}

void DataWriter::watch(const ModelWriterOptions& options, std::size_t workers) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool is_done =
        changed_.wait_for(lock, progress_interval, [&] { return finished_workers_ == workers; });
    lock.unlock();
    if (options.progress) options.progress(before_bytes_ + done_bytes_, total_bytes_);
    lock.lock();
    if (is_done) return;
  }
}

void DataWriter::write_all(const ModelWriterOptions& options) {
  constexpr std::uint64_t most_workers = 16;
  const std::uint64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const auto workers = static_cast<std::size_t>(std::min({most_workers, cores, slices()}));
  std::vector<std::jthread> threads;
  threads.reserve(workers);
  for (std::size_t index = 0; index < workers; ++index) {
    threads.emplace_back([this, &options] { work(options.cancel); });
  }
  try {
    watch(options, workers);
  } catch (...) {
    next_slice_ = slices();  // the caller's progress function threw
    throw;
  }
  threads.clear();
  if (failure_) std::rethrow_exception(failure_);
}

/// The files of a plan, each under a temporary name until all are complete.
class OutputSet {
 public:
  explicit OutputSet(const WriterPlan& plan) : plan_(plan) {
    for (const PlannedFile& file : plan.files) {
      total_bytes_ += file.size_bytes();
      total_data_bytes_ += file.data_bytes;
    }
  }

  void write(const ModelWriterOptions& options) {
    std::uint64_t left_bytes = total_bytes_;
    std::uint64_t before_bytes = 0;
    for (const PlannedFile& planned : plan_.files) {
      if (options.cancel != nullptr) options.cancel->throw_if_cancelled("make-model");
      // Checks the free space for all remaining files.
      base::OutputFile& file =
          *files_.emplace_back(std::make_unique<base::OutputFile>(planned.path, left_bytes));
      file.write_at(std::as_bytes(std::span(planned.header)), 0);
      if (planned.data_bytes > 0) {
        DataWriter(planned, file, before_bytes, total_data_bytes_).write_all(options);
      }
      file.finish();
      left_bytes -= planned.size_bytes();
      before_bytes += planned.data_bytes;
    }
  }

  /// Renames the files to their names, the one that readers open last, so that an interrupted run
  /// never leaves an apparent model.
  void commit() {
    const auto entry = files_.begin() + static_cast<std::ptrdiff_t>(plan_.entry);
    std::rotate(entry, entry + 1, files_.end());
    try {
      for (const auto& file : files_) file->commit();
    } catch (...) {
      for (const auto& file : files_) file->withdraw();
      throw;
    }
  }

  std::uint64_t total_bytes() const { return total_bytes_; }

 private:
  const WriterPlan& plan_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t total_data_bytes_ = 0;
  std::vector<std::unique_ptr<base::OutputFile>> files_;
};

void refuse_to_replace(const WriterPlan& plan) {
  for (const PlannedFile& file : plan.files) {
    std::error_code ignored;
    // OutputFile reports targets that are not regular files.
    if (!std::filesystem::is_regular_file(file.path, ignored)) continue;
    // Each folder has one config.json, whatever the model's file is called.
    const bool is_config = file.path.filename() == "config.json";
    throw Error(ErrorCode::invalid_argument, "make-model", file.path.string() + " already exists",
                std::string("choose another ") + (is_config ? "folder" : "name") +
                    ", or use --force to replace it");
  }
}

}  // namespace

ModelWriterResult write_model(const ModelWriterOptions& options) {
  try {
    const WriterPlan plan = plan_model(options);
    if (!options.replaces) refuse_to_replace(plan);
    OutputSet set(plan);
    set.write(options);
    set.commit();
    return {plan.files[plan.entry].path, options.shards, set.total_bytes(), plan.tensor_bytes,
            plan.tensors};
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::host_out_of_memory, "make-model",
                "out of host memory while writing " + options.path.string());
  }
}

}  // namespace hiptool::model_writer
