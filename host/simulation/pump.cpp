// Feeds and drains a compiled core from buffers, one run at a time. host/simulation/native_build.py
// compiles this file.
//
// In every clock it does the same as extremum.host.simulation.agents.CoreBench.run. No output of
// the core depends combinationally on valid or ready of a stream, or on a beat. So the inputs of a
// clock are decided before the clock begins; then all outputs are known, and with them the transfers
// at the clock's end.

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "model.hpp"
#include "pump.hpp"
#include "streams.hpp"

namespace {

// host/simulation/native.py repeats the layouts of Request and Outcome.
struct Request {
    const uint8_t* jobs;
    const uint64_t* ends;  // for each job: the number of results up to its last one
    uint64_t job_count;
    uint64_t beat_count;
    uint64_t* statuses;
    uint64_t watchdog;
    uint64_t stop_after;  // clocks after which the run is left as it is
    Phases input_stalls, output_stalls, job_stalls;
    uint32_t seed;
};

struct Outcome {
    uint64_t clock = 0, first = NEVER, last = 0, taken = 0, given = 0, statuses = 0;
    char message[MESSAGE_BYTES] = "";
};

class Pump {
  public:
    Pump(const char* waves, uint64_t first, uint64_t last) : model_(waves, first, last) {
        core_.rst = core_.job_valid = core_.i_valid = core_.o_ready = 0;
        model_.start();
    }

    void begin(const Request& request) {
        request_ = request;
        outcome = Outcome{};
        results_ = request.job_count ? request.ends[request.job_count - 1] : 0;
        job_ = 0;
        start_ = model_.clock;
        idle_ = 0;
        job_taken_ = waits_ = false;
        jobs_ = {request.job_count, {request.job_stalls, request.seed + 2}};
        jobs_.refill(request.jobs, request.job_count, bytes_of(JOB_BITS));
        beats_ = {request.beat_count, {request.input_stalls, request.seed}};
        sink_ = {request.output_stalls, request.seed + 1};
        buffer_ = ResultBuffer{};
    }

    // Gives the pump more beats; the core must have taken all earlier ones.
    void feed(const uint8_t* elements, uint64_t beats, uint32_t bytes) {
        pack_ = packer(bytes);
        beats_.refill(elements, std::min(beats, beats_.left), LANES * bytes);
    }

    // Gives the pump a buffer for the next results.
    void drain(uint8_t* values, uint8_t* indices, uint64_t beats, uint32_t bytes) {
        buffer_ = {values, indices, beats, bytes, unpacker(bytes)};
    }

    // Continues until the run is done or has failed, a buffer is needed, or the time is over.
    State advance(double seconds) {
        const auto look = [this] {
            model_.check();
            if (outcome.given == results_ && !beats_.left && !jobs_.left) {
                finish();
                return DONE;
            }
            if (outcome.clock == request_.stop_after) return DONE;
            if (beats_.dry()) return HUNGRY;
            if (!buffer_.beats && outcome.given < results_) return FULL;
            step();
            return RUNNING;
        };
        return guarded([&] { return look_for(seconds, RUNNING, look); },
                       [this](const char* what) { fail(what); });
    }

    // Resets the core for so many clocks, whatever stands on its inputs; then nothing is offered.
    void reset(uint64_t clocks) {
        core_.rst = 1;
        while (clocks--) model_.tick();
        core_.rst = 0;
        beats_.rest(core_.i_valid, core_.i_payload);
        jobs_.rest(core_.job_valid, core_.job_payload);
        core_.o_ready = 0;
        job_taken_ = waits_ = false;
    }

    // Runs the model without the pump's work, to measure how much that work costs.
    void idle(uint64_t clocks) {
        while (clocks--) model_.tick();
    }

    // Clocks since the start of the simulation.
    uint64_t clocks() const { return model_.clock; }

    // Ends the waveforms, as `Model::close` does.
    int close() { return model_.close(); }

    Outcome outcome;

  private:
    void step() {
        jobs_.offer(core_.job_valid, core_.job_payload, [](uint8_t* to, const uint8_t* from) {
            std::memcpy(to, from, bytes_of(JOB_BITS));
        });
        beats_.offer(core_.i_valid, core_.i_payload, pack_);
        const bool ready = !sink_();
        core_.o_ready = ready;
        model_.tick();
        if (job_taken_) request_.statuses[outcome.statuses++] = core_.status;
        job_taken_ = jobs_.moves(core_.job_ready);
        const bool took = beats_.moves(core_.i_ready), gave = look(ready);
        if (took) {
            ++outcome.taken;
            outcome.first = std::min(outcome.first, outcome.clock);
        }
        if (took || gave) {
            outcome.last = outcome.clock;
            idle_ = 0;
        } else if (++idle_ > request_.watchdog) {
            throw std::runtime_error("nothing moved for " + std::to_string(idle_) + " clocks");
        }
        ++outcome.clock;
    }

    // Checks the output by the rules of a stream; returns whether a result leaves.
    bool look(bool ready) {
        const uint8_t* payload = reinterpret_cast<const uint8_t*>(&core_.o_payload);
        if (!core_.o_valid) {
            if (waits_) throw std::runtime_error("output valid fell before it was taken");
            return false;
        }
        if (waits_ && std::memcmp(waiting_, payload, RESULT_BYTES) != 0)
            throw std::runtime_error("the output payload changed");
        waits_ = !ready;
        if (ready) {
            take(payload);
        } else {
            std::memcpy(waiting_, payload, RESULT_BYTES);
        }
        return ready;
    }

    void take(const uint8_t* payload) {
        if (outcome.given == results_) throw std::runtime_error("a result too many");
        ++outcome.given;
        const bool ends = outcome.given == request_.ends[job_], last = payload[RESULT_BYTES - 1] & 1;
        if (last != ends)
            throw std::runtime_error("result " + std::to_string(outcome.given - 1) + " is " +
                                     (last ? "" : "not ") + "marked as its job's last");
        job_ += ends;
        buffer_.put(payload);
    }

    // Ends a run: the last transfers happen at the coming clock edge, and then nothing is offered.
    void finish() {
        beats_.rest(core_.i_valid, core_.i_payload);
        jobs_.rest(core_.job_valid, core_.job_payload);
        core_.o_ready = 0;
        model_.tick();
        if (job_taken_) request_.statuses[outcome.statuses++] = core_.status;
    }

    void fail(const char* what) {
        std::snprintf(outcome.message, sizeof outcome.message,
                      "%s: %s; %" PRIu64 " beats and %" PRIu64 " jobs wait, %" PRIu64 " of %" PRIu64
                      " results came",
                      ClockText(outcome.clock, start_).text, what, beats_.left, jobs_.left,
                      outcome.given, results_);
    }

    Model model_;
    Vcore& core_ = model_.core;
    uint64_t start_ = 0, idle_ = 0, results_ = 0, job_ = 0;
    bool job_taken_ = false, waits_ = false;
    uint8_t waiting_[RESULT_BYTES] = {};
    Request request_{};
    Source<JOB_BITS> jobs_;
    Source<LANES * LANE_BITS> beats_;
    Copy pack_ = nullptr;
    ResultBuffer buffer_;
    Stalls sink_{0, 0};
};

}  // namespace

EXPORT void* pump_open(const char* waves, uint64_t first, uint64_t last, int* state,
                       char* message) {
    return open_pump<Pump>(waves, first, last, state, message);
}

EXPORT void pump_begin(void* pump, const Request* request) {
    static_cast<Pump*>(pump)->begin(*request);
}

EXPORT void pump_feed(void* pump, const uint8_t* elements, uint64_t beats, uint32_t bytes) {
    static_cast<Pump*>(pump)->feed(elements, beats, bytes);
}

EXPORT void pump_drain(void* pump, uint8_t* values, uint8_t* indices, uint64_t beats,
                       uint32_t bytes) {
    static_cast<Pump*>(pump)->drain(values, indices, beats, bytes);
}

EXPORT int pump_advance(void* pump, double seconds) {
    return static_cast<Pump*>(pump)->advance(seconds);
}

EXPORT const Outcome* pump_outcome(void* pump) { return &static_cast<Pump*>(pump)->outcome; }

EXPORT void pump_reset(void* pump, uint64_t clocks) { static_cast<Pump*>(pump)->reset(clocks); }

EXPORT void pump_idle(void* pump, uint64_t clocks) { static_cast<Pump*>(pump)->idle(clocks); }

EXPORT uint64_t pump_clocks(void* pump) { return static_cast<Pump*>(pump)->clocks(); }

EXPORT int pump_close(void* pump) {
    const int error = static_cast<Pump*>(pump)->close();
    delete static_cast<Pump*>(pump);
    return error;
}

// Serves the test that compares this generator with the one in Python.
EXPORT void pump_stalls(const Phases* phases, uint32_t seed, uint64_t count, uint8_t* stalls) {
    Stalls generator(*phases, seed);
    for (uint64_t i = 0; i < count; ++i) stalls[i] = generator();
}
