// The compiled model: its clock, its waveforms, and its errors as exceptions.

#pragma once

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "Vcore.h"
#include "verilated.h"
#ifdef EXTREMUM_WAVES
#include "verilated_vcd_c.h"
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

// Errors of the compiled model become exceptions, which do not end the process.
void vl_fatal(const char*, int, const char*, const char* message) {
    throw std::runtime_error(message);
}
void vl_stop(const char*, int, const char*) { throw std::runtime_error("the core stopped"); }
void vl_finish(const char*, int, const char*) { throw std::runtime_error("the core finished"); }

// What `Vcore::eval` evaluates the core with. Around it, Verilator deletes objects of Verilog's
// classes, handles messages of its threads, and notes for the waveforms that something happened.
// Without waveforms there is nothing of that, and looking for it takes as long as a clock of a small
// core.
void Vcore___024root___eval(Vcore___024root*);

namespace {

constexpr uint64_t NEVER = ~uint64_t{0};
constexpr uint64_t CLOCKS_PER_LOOK = 4096;  // clocks after which the time is checked again

#ifdef EXTREMUM_WAVES
// A file that keeps its first error and takes no more: Verilator writes from within destructors, too,
// where an exception would end the process.
class WaveFile : public VerilatedVcdFile {
  public:
    ssize_t write(const char* bytes, ssize_t count) override {
        if (error) return count;
        const ssize_t written = VerilatedVcdFile::write(bytes, count);
        if (written >= 0 || errno == EINTR || errno == EAGAIN) return written;
        error = errno;
        return count;
    }

    int error = 0;
};
#endif

// The waveforms could not be written, which is no fault of the core.
struct WaveError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Model {
  public:
    // Opens the waveforms. All inputs must be set before `start`.
    Model(const char* waves, uint64_t first, uint64_t last)
        : core(&context_), first_wave_(first), last_wave_(last) {
        context_.randReset(2);
        context_.randSeed(1);
        core.clk = 0;
#ifdef EXTREMUM_WAVES
        context_.traceEverOn(true);
        if (*waves) {
            core.trace(&trace_, 99);
            trace_.open(waves);
            if (!trace_.isOpen()) throw WaveError(std::string("cannot write waveforms to ") + waves);
        }
#else
        (void)waves;
#endif
    }

    // Ends the waveforms; returns the error number if not all of them could be written, else zero.
    int close() {
#ifdef EXTREMUM_WAVES
        trace_.close();
        return file_.error;
#else
        return 0;
#endif
    }

    // Throws if the waveforms could not be written so far.
    void check() const {
#ifdef EXTREMUM_WAVES
        if (file_.error) {
            throw WaveError(std::string("cannot write waveforms: ") + std::strerror(file_.error));
        }
#endif
    }

    // Evaluates the core for the first time, which also gives every variable its first value.
    void start() { core.eval(); }

    void tick() {
        core.clk = 1;
        evaluate();
        dump(0);
        core.clk = 0;
        evaluate();
        dump(1);
        ++clock;
    }

    uint64_t clock = 0;  // clocks since the start

  private:
    VerilatedContext context_;

  public:
    Vcore core;

  private:
    void evaluate() {
#ifdef EXTREMUM_WAVES
        core.eval();
#else
        Vcore___024root___eval(core.rootp);
#endif
    }

    void dump(int half) {
#ifdef EXTREMUM_WAVES
        if (trace_.isOpen() && clock >= first_wave_ && clock <= last_wave_) {
            trace_.dump(2 * clock + half);
        }
#else
        (void)half;
#endif
    }

#ifdef EXTREMUM_WAVES
    WaveFile file_;
    VerilatedVcdC trace_{&file_};
#endif
    uint64_t first_wave_, last_wave_;
};

// Calls `look` until it returns something else than `running`, or until the time is over, which is
// seldom checked.
template <class State, class Look>
State look_for(double seconds, State running, Look look) {
    using Time = std::chrono::steady_clock;
    const auto end = Time::now() + std::chrono::duration<double>(seconds);
    do {
        for (uint64_t i = 0; i < CLOCKS_PER_LOOK; ++i) {
            const State state = look();
            if (state != running) return state;
        }
    } while (Time::now() < end);
    return running;
}

}  // namespace
