#include "device/cuda/executor.h"

#include <unistd.h>

#include "base/subprocess.h"
#include "device/cuda/engine.h"
#include "device/cuda/wire.h"

namespace cutegen {
namespace {

using namespace cuda;

constexpr int kExitOrderly = 0, kExitNoDevice = 1, kExitMalformed = 2, kExitContextLost = 3;

struct Answer {
  Json message;
  bool fatal = false;
};

Answer error_answer(const Error& error, bool fatal = false) { return {{{"error", to_wire(error)}, {"fatal", fatal}}, fatal}; }

// Turns a step's failure into the answer's outcome, so that a candidate's fault is a result and only the device's is an error.
template <class ResultType>
Answer finish(ResultType result, Failed failed) {
  if (!failed) {
    Json message = to_wire(result);
    message["fatal"] = false;
    return {std::move(message), false};
  }
  if (failed->error) return error_answer(*failed->error, failed->fatal);
  ResultType faulted;
  faulted.outcome = failed->outcome;
  Json message = to_wire(faulted);
  message["fatal"] = failed->fatal;
  return {std::move(message), failed->fatal};
}

Answer serve(Engine& engine, const Json& request, const Progress& progress) {
  const std::string op = json_or(request, "op", std::string());
  if (op == "run") {
    auto parsed = run_request_from_wire(request);
    auto to = export_from_wire(request);
    if (!parsed.ok()) return error_answer(parsed.error());
    if (!to.ok()) return error_answer(to.error());
    RunResult result;
    Failed failed = engine.run(result, *parsed, *to, progress);
    return finish(std::move(result), std::move(failed));
  }
  if (op == "time") {
    auto parsed = time_request_from_wire(request);
    if (!parsed.ok()) return error_answer(parsed.error());
    TimeResult result;
    Failed failed = engine.time(result, *parsed, progress);
    return finish(std::move(result), std::move(failed));
  }
  return error_answer(Error{Errc::protocol, "the executor does not know the request '" + op + "'", "", ""});
}

}  // namespace

int run_executor(int channel_fd) {
  auto hello = receive_frame(channel_fd, Deadline::never());
  if (!hello.ok()) return hello.error().code == Errc::io ? kExitOrderly : kExitMalformed;
  auto started = Engine::start(json_or(*hello, "ordinal", 0));
  if (!started.ok()) {
    [[maybe_unused]] const auto told = send_frame(channel_fd, error_answer(started.error(), true).message);
    return kExitNoDevice;
  }
  // Never destroyed: after a fault the driver may not be called any more, and otherwise the process's end frees everything at once.
  Engine& engine = *std::move(started).value().release();
  auto told = send_frame(channel_fd, {{"info", to_wire(engine.info())}, {"pid", ::getpid()}});
  const Progress progress = [&](const std::string& what) { told = send_frame(channel_fd, {{"progress", what}}); };
  while (told.ok()) {
    const auto request = receive_frame(channel_fd, Deadline::never());
    if (!request.ok()) return request.error().code == Errc::io ? kExitOrderly : kExitMalformed;
    const Answer answer = serve(engine, *request, progress);
    told = send_frame(channel_fd, answer.message);
    if (answer.fatal) return kExitContextLost;
  }
  return kExitOrderly;
}

}  // namespace cutegen
