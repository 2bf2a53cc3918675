// SPDX-License-Identifier: MIT
#include <array>
#include <limits>

#include "hostile.hpp"

namespace hiptool::test {
namespace {

void call_devices(Hostile& hostile) {
  Device& device = hostile.device;
  hostile.call("hiptool::Platforms::Platforms", [] {
    Platforms::Options options;
    options.cpu_devices = std::numeric_limits<int>::max();
    options.hip_library = "/dev/null";
    options.cuda_library = std::string(1, '\0');
    Platforms platforms(options);
    for (const Platform each : {Platform::amd, Platform::nvidia}) (void)platforms.devices(each);
    options.cpu_devices = -1;
    Platforms none(options);
    (void)none.devices(Platform::cpu);
  });
  hostile.call("hiptool::Platforms::Platforms", [] { const Platforms usual; });
  hostile.call("hiptool::Platforms::Platforms", [] {
    Platforms from;
    const Platforms to = std::move(from);
    (void)from.status(Platform::cpu);
  });
  hostile.call("hiptool::Platforms::operator=", [] {
    Platforms from;
    Platforms to = std::move(from);
    from = std::move(to);
    move_to_itself(from);
    (void)to.devices(Platform::cpu);
  });
  hostile.call("hiptool::Platforms::status",
               [&] { (void)hostile.platforms.status(wrong<Platform>()); });
  hostile.call("hiptool::Platforms::devices",
               [&] { (void)hostile.platforms.devices(wrong<Platform>()); });
  hostile.call("hiptool::Platforms::system_root", [] {
    Platforms from;
    const Platforms to = std::move(from);
    (void)from.system_root();
  });
  hostile.call("hiptool::Platforms::Options::from_environment",
               [] { (void)Platforms::Options::from_environment(); });
  const Device taken = std::move(device);
  hostile.call("hiptool::Device::id", [&] { (void)device.id(); });
  hostile.call("hiptool::Device::info", [&] { (void)device.info(); });
  hostile.call("hiptool::Device::memory", [&] { (void)device.memory(); });
  hostile.call("hiptool::Device::is_host_memory", [&] { (void)device.is_host_memory(); });
  hostile.call("hiptool::Device::ordinal", [&] { (void)device.ordinal(); });
  hostile.call("hiptool::Device::platform", [&] { (void)device.platform(); });
  hostile.call("hiptool::Device::start", [&] { device.start(); });
  hostile.call("hiptool::DeviceGuard::DeviceGuard",
               [&] { const DeviceGuard guard(hostile.platforms.devices(Platform::cpu)[1]); });
  for (const char* id : {"", ":", "cpu:99999999999", "cpu:-1", "amd", "\xff"}) {
    hostile.call("hiptool::find_device", [&] { (void)find_device(hostile.platforms, id); });
  }
  hostile.call("hiptool::default_device", [] {
    Platforms from;
    const Platforms to = std::move(from);
    (void)default_device(from);
  });
  hostile.call("hiptool::can_access_peer", [&] { (void)can_access_peer(device, device); });
  hostile.call("hiptool::enable_peer_access", [&] { enable_peer_access(device, device); });
  hostile.call("hiptool::disable_peer_access", [&] { disable_peer_access(device, device); });
  hostile.call("hiptool::to_string", [] { (void)to_string(wrong<Platform>()); });
}

void call_streams(Hostile& hostile) {
  const Device& device = hostile.device;
  const Stream& moved = hostile.moved_stream;
  hostile.call("hiptool::Stream::Stream",
               [&] { const Stream made(device, wrong<Stream::Priority>()); });
  hostile.call("hiptool::Stream::Stream", [&] {
    Stream from(device);
    const Stream to = std::move(from);
    from.synchronize();
  });
  hostile.call("hiptool::Stream::operator=", [&] {
    Stream from(device);
    Stream to(device);
    to = std::move(from);
    move_to_itself(from);
    (void)from.is_done();
  });
  hostile.call("hiptool::Stream::release", [&] {
    Stream from(device);
    const Stream to = std::move(from);
    (void)from.release();
  });
  hostile.call("hiptool::Stream::take_native", [&] { (void)Stream::take_native(device, nullptr); });
  hostile.call("hiptool::StreamRef::borrow_native",
               [&] { (void)StreamRef::borrow_native(device, nullptr); });
  hostile.call("hiptool::StreamRef::is_done", [&] { (void)moved.is_done(); });
  hostile.call("hiptool::StreamRef::synchronize", [&] { moved.synchronize(); });
  hostile.call("hiptool::StreamRef::wait", [&] {
    Event from(device);
    const Event to = std::move(from);
    hostile.stream.wait(from);
  });
  hostile.call("hiptool::StreamRef::wait", [&] { moved.wait(Event(device)); });
  hostile.call("hiptool::StreamRef::launch_host_function",
               [&] { hostile.stream.launch_host_function({}); });
  hostile.call("hiptool::StreamRef::launch_host_function",
               [&] { moved.launch_host_function([] {}); });
  hostile.call("hiptool::Event::Event",
               [&] { Event(device, wrong<Event::Kind>()).record(hostile.stream); });
  Event event(device);
  const Event taken = std::move(event);
  hostile.call("hiptool::Event::record", [&] { event.record(hostile.stream); });
  hostile.call("hiptool::Event::record", [&] { Event(device).record(moved); });
  hostile.call("hiptool::Event::record", [&] { Event(hostile.other).record(hostile.stream); });
  hostile.call("hiptool::Event::synchronize", [&] { event.synchronize(); });
  hostile.call("hiptool::Event::is_done", [&] { (void)event.is_done(); });
  hostile.call("hiptool::Event::elapsed_s", [&] { (void)event.elapsed_s(Event(device)); });
  hostile.call("hiptool::Event::elapsed_s", [&] { (void)Event(device).elapsed_s(event); });
  hostile.call("hiptool::Event::take_native", [&] { (void)Event::take_native(device, nullptr); });
  hostile.call("hiptool::KernelTimer::KernelTimer", [&] { const KernelTimer timer(moved); });
  hostile.call("hiptool::KernelTimer::start", [&] { KernelTimer(moved).start(); });
  hostile.call("hiptool::KernelTimer::start", [&] {
    KernelTimer from(hostile.stream);
    const KernelTimer to = std::move(from);
    from.start();
  });
  hostile.call("hiptool::KernelTimer::stop", [&] { KernelTimer(hostile.stream).stop(); });
  hostile.call("hiptool::KernelTimer::elapsed_s",
               [&] { (void)KernelTimer(hostile.stream).elapsed_s(); });
}

void call_graphs(Hostile& hostile) {
  const Device& device = hostile.device;
  const auto nothing = [](const StreamRef&) {};
  hostile.call("hiptool::Graph::Graph", [&] { const Graph graph(device, "empty", {}); });
  hostile.call("hiptool::Graph::Graph", [&] {
    const Graph graph(device, {}, [](const StreamRef& recording) { recording.synchronize(); });
  });
  Graph graph(device, {}, nothing);
  hostile.call("hiptool::Graph::launch", [&] { graph.launch(hostile.moved_stream); });
  hostile.call("hiptool::Graph::launch", [&] { graph.launch(Stream(hostile.other)); });
  const Graph taken = std::move(graph);
  hostile.call("hiptool::Graph::launch", [&] { graph.launch(hostile.stream); });
}

void call_kernels(Hostile& hostile) {
  const Device& device = hostile.device;
  const std::array<std::byte, 3> bytes{};
  hostile.call("hiptool::Module::Module", [&] { const Module made(device, {}, "nothing"); });
  hostile.call("hiptool::Module::Module", [&] { const Module made(device, bytes, "three bytes"); });
  hostile.call("hiptool::Module::borrow_native",
               [&] { (void)Module::borrow_native(device, nullptr); });
  hostile.call("hiptool::Module::borrow_native", [&] {
    int nothing = 0;
    const Kernel kernel(Module::borrow_native(device, &nothing), "k");
  });
  constexpr std::string_view image = "hiptool cpu kernels 1";
  Module module(device, std::as_bytes(std::span(image)));
  const Module taken = std::move(module);
  hostile.call("hiptool::Module::device", [&] { (void)module.device(); });
  hostile.call("hiptool::Module::name", [&] { (void)module.name(); });
  hostile.call("hiptool::Module::native_handle", [&] { (void)module.native_handle(); });
  hostile.call("hiptool::Kernel::Kernel", [&] { const Kernel made(module, {}); });
  Kernel kernel(module, "hiptool_fill_packed_4");
  const Kernel copied = std::move(kernel);
  const auto largest = static_cast<std::uint32_t>(four_billion);
  for (const LaunchConfig& config :
       {LaunchConfig{{0, 1, 1}, {1, 1, 1}, 0}, LaunchConfig{{1, 1, 1}, {largest, 1, 1}, 0},
        LaunchConfig{{1, 1, 1}, {1, 1, 1}, largest}}) {
    hostile.call("hiptool::launch_with_addresses",
                 [&] { launch_with_addresses(kernel, config, hostile.stream, {}); });
  }
  hostile.call("hiptool::launch_with_addresses",
               [&] { launch_with_addresses(kernel, {}, hostile.moved_stream, {}); });
  hostile.call("hiptool::launch_with_addresses",
               [&] { launch_with_addresses(kernel, {}, Stream(hostile.other), {}); });
}

}  // namespace

void call_core(Hostile& hostile) {
  call_devices(hostile);
  call_streams(hostile);
  call_graphs(hostile);
  call_kernels(hostile);
  hostile.call("hiptool::Error::Error", [] { const Error error(Error::Fields{}); });
  hostile.call("hiptool::Error::Error", [] { const Error error(wrong<ErrorCode>(), {}, {}); });
  Error error(wrong<ErrorCode>(), "", "\n");
  const Error taken = std::move(error);
  hostile.call("hiptool::Error::about", [&] { (void)error.about(""); });
  hostile.call("hiptool::Error::cause", [&] { (void)error.about("\n").cause(); });
  hostile.call("hiptool::Error::is_recoverable", [&] { (void)error.is_recoverable(); });
  hostile.call("hiptool::Error::with_context", [&] { (void)error.with_context({}); });
  hostile.call("hiptool::Error::with_hint", [&] { (void)error.with_hint({}); });
  hostile.call("hiptool::to_string", [] { (void)to_string(wrong<ErrorCode>()); });
  hostile.call("hiptool::CancelToken::throw_if_cancelled", [] {
    CancelToken token;
    token.cancel();
    token.throw_if_cancelled("hostile");
  });
  const RetryPolicy policy{.max_retries = std::numeric_limits<int>::min(),
                           .first_delay_s = std::numeric_limits<double>::quiet_NaN(),
                           .before_retry = {},
                           .cancel = {}};
  hostile.call("hiptool::retry_delay_s",
               [&] { (void)retry_delay_s(policy, std::numeric_limits<int>::max()); });
  hostile.call("hiptool::retry_delay_s", [&] { (void)retry_delay_s({}, -1); });
  hostile.call("hiptool::wait_for_retry", [&] { wait_for_retry(error, policy, -1); });
  hostile.call("hiptool::wait_for_retry", [&] {
    wait_for_retry(
        Error(ErrorCode::out_of_memory, "", ""),
        {.max_retries = 1, .first_delay_s = policy.first_delay_s, .before_retry = {}, .cancel = {}},
        0);
  });
  hostile.call("hiptool::version", [] { (void)version(); });
  hostile.call("hiptool::git_description", [] { (void)git_description(); });
  Timeline timeline;
  hostile.call("hiptool::Timeline::add", [&] { timeline.add({7, {}, {}, {}, most}); });
  hostile.call("hiptool::Timeline::add_track", [&] { timeline.add_track({}); });
  hostile.call("hiptool::Timeline::spans", [&] { (void)timeline.spans(); });
  hostile.call("hiptool::Timeline::tracks", [&] { (void)timeline.tracks(); });
}

}  // namespace hiptool::test
