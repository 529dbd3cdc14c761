// CUDA Runtime API 6.4 (streams) and 6.5 (events). Streams execute at once; events hold the host's time.
#include <fmt/format.h>

#include "sim/runtime.h"

using namespace cutegen;
using namespace cutegen::sim;

namespace {

constexpr unsigned kEventDisableTiming = 2;
constexpr int kGreatestPriority = -5;

// nullptr, 1 and 2 are the default streams.
bool is_default(Stream s) { return reinterpret_cast<uintptr_t>(s) <= 2; }
StreamState* find(Runtime& r, Stream s) {
  auto* state = static_cast<StreamState*>(s);
  return r.streams.contains(state) ? state : nullptr;
}
EventState* find_event(Runtime& r, Event e) {
  auto* state = static_cast<EventState*>(e);
  return r.events.contains(state) ? state : nullptr;
}
Status known(Runtime& r, Stream s) {
  return is_default(s) || find(r, s) != nullptr ? Status() : Status(kInvalidResourceHandle, fmt::format("{} is no stream", s));
}

Status create_stream(Runtime& r, Stream* stream, unsigned flags, int priority) {
  auto* state = new StreamState{flags, priority, r.next_stream_id++};
  r.streams.insert(state);
  *stream = state;
  return {};
}

template <class F>
Status with_event(Runtime& r, Event event, F&& f) {
  EventState* state = find_event(r, event);
  return state == nullptr ? Status(kInvalidResourceHandle, fmt::format("{} is no event", event)) : f(*state);
}

int check_stream(const char* name, Stream stream) {
  return call(name, [&](Runtime& r) { return known(r, stream); });
}

}  // namespace

SIM_API int cudaStreamCreateWithPriority(Stream* stream, unsigned flags, int priority) {
  return call("cudaStreamCreateWithPriority", [&](Runtime& r) { return create_stream(r, stream, flags, priority); });
}
SIM_API int cudaStreamCreateWithFlags(Stream* stream, unsigned flags) {
  return call("cudaStreamCreateWithFlags", [&](Runtime& r) { return create_stream(r, stream, flags, 0); });
}
SIM_API int cudaStreamCreate(Stream* stream) {
  return call("cudaStreamCreate", [&](Runtime& r) { return create_stream(r, stream, 0, 0); });
}
SIM_API int cudaStreamDestroy(Stream stream) {
  return call("cudaStreamDestroy", [&](Runtime& r) {
    StreamState* state = find(r, stream);
    if (state == nullptr) return Status(kInvalidResourceHandle, fmt::format("{} is no stream that was created", stream));
    r.streams.erase(state);
    delete state;
    return Status();
  });
}
SIM_API int cudaStreamSynchronize(Stream stream) { return check_stream("cudaStreamSynchronize", stream); }
SIM_API int cudaStreamQuery(Stream stream) { return check_stream("cudaStreamQuery", stream); }
SIM_API int cudaStreamWaitEvent(Stream stream, Event event, unsigned) {
  return call("cudaStreamWaitEvent", [&](Runtime& r) {
    Status s = known(r, stream);
    return s.ok() ? with_event(r, event, [](EventState&) { return Status(); }) : s;
  });
}
SIM_API int cudaStreamAddCallback(Stream stream, StreamCallback callback, void* data, unsigned) {
  return call("cudaStreamAddCallback", [&](Runtime& r) {
    Status s = known(r, stream);
    if (s.ok()) callback(stream, kSuccess, data);
    return s;
  });
}
SIM_API int cudaStreamGetPriority(Stream stream, int* priority) {
  return call("cudaStreamGetPriority", [&](Runtime& r) {
    const StreamState* state = find(r, stream);
    *priority = state != nullptr ? state->priority : 0;
    return known(r, stream);
  });
}
SIM_API int cudaStreamGetFlags(Stream stream, unsigned* flags) {
  return call("cudaStreamGetFlags", [&](Runtime& r) {
    const StreamState* state = find(r, stream);
    *flags = state != nullptr ? state->flags : 0;
    return known(r, stream);
  });
}
SIM_API int cudaStreamGetId(Stream stream, unsigned long long* id) {
  return call("cudaStreamGetId", [&](Runtime& r) {
    const StreamState* state = find(r, stream);
    *id = state != nullptr ? state->id : reinterpret_cast<uintptr_t>(stream);
    return known(r, stream);
  });
}
SIM_API int cudaStreamGetDevice(Stream stream, int* device) {
  return call("cudaStreamGetDevice", [&](Runtime& r) {
    *device = 0;
    return known(r, stream);
  });
}
SIM_API int cudaStreamIsCapturing(Stream stream, int* status) {
  return call("cudaStreamIsCapturing", [&](Runtime& r) {
    *status = 0;  // none: graphs are not supported
    return known(r, stream);
  });
}
SIM_API int cudaThreadExchangeStreamCaptureMode(int*) {
  return call("cudaThreadExchangeStreamCaptureMode", [](Runtime&) { return Status(); });
}
SIM_API int cudaStreamSetAttribute(Stream stream, int, const void*) { return check_stream("cudaStreamSetAttribute", stream); }
SIM_API int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("cudaDeviceGetStreamPriorityRange", [&](Runtime&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return Status();
  });
}

SIM_API int cudaEventCreateWithFlags(Event* event, unsigned flags) {
  return call("cudaEventCreateWithFlags", [&](Runtime& r) {
    auto* state = new EventState{flags, false, Seconds(0)};
    r.events.insert(state);
    *event = state;
    return Status();
  });
}
SIM_API int cudaEventCreate(Event* event) { return cudaEventCreateWithFlags(event, 0); }
SIM_API int cudaEventDestroy(Event event) {
  return call("cudaEventDestroy", [&](Runtime& r) {
    return with_event(r, event, [&](EventState& e) {
      r.events.erase(&e);
      delete &e;
      return Status();
    });
  });
}
SIM_API int cudaEventRecordWithFlags(Event event, Stream stream, unsigned) {
  return call("cudaEventRecord", [&](Runtime& r) {
    if (Status s = known(r, stream); !s.ok()) return s;
    return with_event(r, event, [](EventState& e) {
      e.recorded = true;
      e.at = system_clock().now();
      return Status();
    });
  });
}
SIM_API int cudaEventRecord(Event event, Stream stream) { return cudaEventRecordWithFlags(event, stream, 0); }
SIM_API int cudaEventSynchronize(Event event) {
  return call("cudaEventSynchronize", [&](Runtime& r) { return with_event(r, event, [](EventState&) { return Status(); }); });
}
SIM_API int cudaEventQuery(Event event) {
  return call("cudaEventQuery", [&](Runtime& r) { return with_event(r, event, [](EventState&) { return Status(); }); });
}
SIM_API int cudaEventElapsedTime(float* ms, Event start, Event end) {
  return call("cudaEventElapsedTime", [&](Runtime& r) {
    return with_event(r, start, [&](EventState& a) {
      return with_event(r, end, [&](EventState& b) {
        if (!a.recorded || !b.recorded || ((a.flags | b.flags) & kEventDisableTiming) != 0)
          return Status(kInvalidResourceHandle, "an event was not recorded, or does not take the time");
        *ms = static_cast<float>((b.at - a.at).count() * 1e3);
        return Status();
      });
    });
  });
}

SIM_SAME(cudaStreamSynchronize_ptsz, cudaStreamSynchronize);
SIM_SAME(cudaStreamQuery_ptsz, cudaStreamQuery);
SIM_SAME(cudaStreamWaitEvent_ptsz, cudaStreamWaitEvent);
SIM_SAME(cudaStreamAddCallback_ptsz, cudaStreamAddCallback);
SIM_SAME(cudaStreamGetPriority_ptsz, cudaStreamGetPriority);
SIM_SAME(cudaStreamGetFlags_ptsz, cudaStreamGetFlags);
SIM_SAME(cudaStreamGetId_ptsz, cudaStreamGetId);
SIM_SAME(cudaStreamGetDevice_ptsz, cudaStreamGetDevice);
SIM_SAME(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing);
SIM_SAME(cudaStreamSetAttribute_ptsz, cudaStreamSetAttribute);
SIM_SAME(cudaEventRecord_ptsz, cudaEventRecord);
SIM_SAME(cudaEventRecordWithFlags_ptsz, cudaEventRecordWithFlags);
