// Feeds and drains a compiled core from buffers, one run at a time. Compiled by host/native.py.
//
// Clock for clock it does what extremum.tb.core.CoreBench.run does. No output of the core depends
// combinationally on an input, so after the falling edge all outputs are known: there they are
// looked at and all inputs are set, and the transfers of the coming edge are known at once.
//
// Given on the command line: JOB_BITS, I_BITS, O_BITS, the widths of the payloads.

#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "Vcore.h"
#include "verilated.h"
#ifdef EXTREMUM_WAVES
#include "verilated_vcd_c.h"
#endif

// Verilator spells out a double underscore.
#define PORT(stream, member) core_.stream##___05F##member
#define EXPORT extern "C" __attribute__((visibility("default")))

// What the model itself complains about becomes an exception, not the end of the process.
void vl_fatal(const char*, int, const char*, const char* message) {
    throw std::runtime_error(message);
}
void vl_stop(const char*, int, const char*) { throw std::runtime_error("the core stopped"); }
void vl_finish(const char*, int, const char*) { throw std::runtime_error("the core finished"); }

namespace {

constexpr size_t bytes_of(size_t bits) { return (bits + 7) / 8; }
constexpr size_t JOB_BYTES = bytes_of(JOB_BITS);
constexpr size_t I_BYTES = bytes_of(I_BITS);
constexpr size_t O_BYTES = bytes_of(O_BITS);
constexpr uint64_t NEVER = ~uint64_t{0};
constexpr uint64_t CLOCKS_PER_LOOK = 4096;  // between two looks at the time

// The generator of extremum.tb.stalls.Stalls: xorshift32.
class Stalls {
  public:
    Stalls(uint32_t rate, uint32_t seed) : rate_(rate), state_((2 * seed + 1) * 0x9E3779B9u) {}

    uint32_t word() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        state_ ^= state_ << 5;
        return state_;
    }

    bool operator()() { return rate_ > 0 && ((word() >> 16) * 100 >> 16) < rate_; }

  private:
    uint32_t rate_, state_;
};

// Offers payloads on a stream, rests now and then, and shows garbage while it rests.
template <size_t BITS>
class Source {
    static constexpr size_t BYTES = bytes_of(BITS);

  public:
    Source(const uint8_t* items, uint64_t count, Stalls stalls)
        : left(count), next_(items), stalls_(stalls) {}

    // Offers the next payload if it is time; returns whether the coming edge takes it.
    template <class Valid, class Payload>
    bool drive(Valid& valid, Payload& payload, bool ready) {
        if (!offered_) {
            if (left == 0 || stalls_()) {
                rest(valid, payload);
                return false;
            }
            std::memcpy(&payload, next_, BYTES);
            valid = 1;
            offered_ = true;
            garbage_ = false;
        }
        if (!ready) return false;
        offered_ = false;
        next_ += BYTES;
        --left;
        return true;
    }

    template <class Valid, class Payload>
    void rest(Valid& valid, Payload& payload) {
        if (garbage_) return;
        garbage_ = true;
        valid = 0;
        const uint32_t word = stalls_.word() | 1;
        uint8_t* bytes = reinterpret_cast<uint8_t*>(&payload);
        for (size_t i = 0; i < BYTES; ++i) bytes[i] = uint8_t(word >> 8 * (i % 4));
        if (BITS % 8) bytes[BYTES - 1] &= uint8_t((1 << BITS % 8) - 1);
    }

    uint64_t left;

  private:
    const uint8_t* next_;
    Stalls stalls_;
    bool offered_ = false, garbage_ = false;
};

// The layout of both is known to host/native.py.
struct Request {
    const uint8_t* jobs;
    uint64_t job_count;
    const uint8_t* beats;
    uint64_t beat_count;
    uint8_t* results;
    uint64_t result_count;
    uint64_t* statuses;
    uint64_t watchdog;
    uint32_t input_stalls, output_stalls, seed;
};

struct Outcome {
    uint64_t clock = 0, first = NEVER, last = 0, given = 0, statuses = 0;
    char message[256] = "";
};

enum State { RUNNING, DONE, FAILED };

class Pump {
  public:
    Pump(const char* waves, uint64_t first, uint64_t last)
        : core_(&context_), first_wave_(first), last_wave_(last) {
        context_.randReset(2);
        context_.randSeed(1);
        core_.clk = PORT(job, valid) = PORT(i, valid) = PORT(o, ready) = 0;
#ifdef EXTREMUM_WAVES
        context_.traceEverOn(true);
        if (*waves) {
            core_.trace(&trace_, 99);
            trace_.open(waves);
            if (!trace_.isOpen()) throw std::runtime_error("the waveform file cannot be written");
        }
#else
        (void)waves;
#endif
        core_.rst = 1;
        for (int clock = 0; clock < 2; ++clock) tick();
        core_.rst = 0;
        clock_ = 0;
    }

    ~Pump() {
#ifdef EXTREMUM_WAVES
        if (trace_.isOpen()) trace_.close();
#endif
        core_.final();
    }

    void begin(const Request& request) {
        request_ = request;
        outcome = Outcome{};
        start_ = clock_;
        idle_ = 0;
        job_taken_ = waits_ = false;
        jobs_ = {request.jobs, request.job_count, {0, request.seed + 2}};
        beats_ = {request.beats, request.beat_count, {request.input_stalls, request.seed}};
        sink_ = {request.output_stalls, request.seed + 1};
    }

    // Goes on until the run is done, has failed, or has taken so many seconds.
    State advance(double seconds) {
        using Time = std::chrono::steady_clock;
        const auto end = Time::now() + std::chrono::duration<double>(seconds);
        try {
            do {
                for (uint64_t i = 0; i < CLOCKS_PER_LOOK; ++i) {
                    if (outcome.given == request_.result_count && !beats_.left && !jobs_.left) {
                        finish();
                        return DONE;
                    }
                    step();
                }
            } while (Time::now() < end);
            return RUNNING;
        } catch (const std::exception& error) {
            fail(error.what());
            return FAILED;
        }
    }

    // The same model without the pump: the measure of how much the pump costs.
    void idle(uint64_t clocks) {
        while (clocks--) tick();
    }

    Outcome outcome;

  private:
    void tick() {
        core_.clk = 1;
        core_.eval();
        dump(0);
        core_.clk = 0;
        core_.eval();
        dump(1);
        ++clock_;
    }

    void dump(int half) {
#ifdef EXTREMUM_WAVES
        if (!core_.rst && trace_.isOpen() && clock_ >= first_wave_ && clock_ <= last_wave_) {
            trace_.dump(2 * clock_ + half);
        }
#else
        (void)half;
#endif
    }

    void step() {
        tick();
        if (job_taken_) request_.statuses[outcome.statuses++] = core_.status;
        job_taken_ = jobs_.drive(PORT(job, valid), PORT(job, payload), PORT(job, ready));
        bool moved = false;
        if (beats_.drive(PORT(i, valid), PORT(i, payload), PORT(i, ready))) {
            moved = true;
            if (outcome.first == NEVER) outcome.first = outcome.clock;
        }
        const bool ready = !sink_();
        PORT(o, ready) = ready;
        if (PORT(o, valid)) {
            if (waits_ && std::memcmp(waiting_, &PORT(o, payload), O_BYTES) != 0)
                throw std::runtime_error("the output payload changed");
            waits_ = !ready;
            if (ready) {
                moved = true;
                if (outcome.given == request_.result_count)
                    throw std::runtime_error("a result too many");
                std::memcpy(request_.results + outcome.given * O_BYTES, &PORT(o, payload), O_BYTES);
                ++outcome.given;
            } else {
                std::memcpy(waiting_, &PORT(o, payload), O_BYTES);
            }
        } else if (waits_) {
            throw std::runtime_error("output valid fell before it was taken");
        }
        if (moved) {
            outcome.last = outcome.clock;
            idle_ = 0;
        } else if (++idle_ > request_.watchdog) {
            throw std::runtime_error("nothing moved for " + std::to_string(idle_) + " clocks");
        }
        ++outcome.clock;
    }

    // The transfers of this clock happen at the edge to come; after it nothing is offered.
    void finish() {
        tick();
        if (job_taken_) request_.statuses[outcome.statuses++] = core_.status;
        beats_.rest(PORT(i, valid), PORT(i, payload));
        jobs_.rest(PORT(job, valid), PORT(job, payload));
        PORT(o, ready) = 0;
    }

    void fail(const char* what) {
        char whole[64] = "";
        if (start_) {
            std::snprintf(whole, sizeof whole, " (%" PRIu64 " since the start)",
                          start_ + outcome.clock);
        }
        std::snprintf(outcome.message, sizeof outcome.message,
                      "clock %" PRIu64 "%s: %s; %" PRIu64 " beats and %" PRIu64
                      " jobs wait, %" PRIu64 " of %" PRIu64 " results came",
                      outcome.clock, whole, what, beats_.left, jobs_.left, outcome.given,
                      request_.result_count);
    }

    VerilatedContext context_;
    Vcore core_;
#ifdef EXTREMUM_WAVES
    VerilatedVcdC trace_;
#endif
    uint64_t first_wave_, last_wave_;
    uint64_t clock_ = 0, start_ = 0, idle_ = 0;
    bool job_taken_ = false, waits_ = false;
    uint8_t waiting_[O_BYTES] = {};
    Request request_{};
    Source<JOB_BITS> jobs_{nullptr, 0, {0, 0}};
    Source<I_BITS> beats_{nullptr, 0, {0, 0}};
    Stalls sink_{0, 0};
};

}  // namespace

EXPORT void* pump_open(const char* waves, uint64_t first, uint64_t last) {
    try {
        return new Pump(waves, first, last);
    } catch (const std::exception&) {
        return nullptr;
    }
}

EXPORT void pump_begin(void* pump, const Request* request) {
    static_cast<Pump*>(pump)->begin(*request);
}

EXPORT int pump_advance(void* pump, double seconds) {
    return static_cast<Pump*>(pump)->advance(seconds);
}

EXPORT const Outcome* pump_outcome(void* pump) { return &static_cast<Pump*>(pump)->outcome; }

EXPORT void pump_idle(void* pump, uint64_t clocks) { static_cast<Pump*>(pump)->idle(clocks); }

EXPORT void pump_close(void* pump) { delete static_cast<Pump*>(pump); }

// For the test that holds the generator against the one in Python.
EXPORT void pump_stalls(uint32_t rate, uint32_t seed, uint64_t count, uint8_t* stalls) {
    Stalls generator(rate, seed);
    for (uint64_t i = 0; i < count; ++i) stalls[i] = generator();
}
