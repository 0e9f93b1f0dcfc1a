// Drives a compiled AXI block: accesses of its registers, a source of packets, and a sink on each of
// its output streams. host/simulation/native_build.py compiles this file.
//
// As in pump.cpp, the inputs of a clock are decided before it begins: all outputs are registers.

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lite.hpp"
#include "model.hpp"
#include "pump.hpp"
#include "sink.hpp"
#include "streams.hpp"

namespace {

// host/simulation/native_block.py repeats the layouts of Settings and Outcome.
struct Settings {
    uint64_t watchdog;
    Phases input_stalls, output_stalls;
    uint32_t seed;
};

struct Outcome {
    uint64_t clock = 0, first = NEVER, last = 0, taken = 0, given = 0;
    Filled filled[2];
    uint32_t irq = 0, word = 0, refused_read = 0;
    uint32_t refused_write = LiteMaster::NONE;  // whoever tells of it sets it to NONE
    char message[MESSAGE_BYTES] = "";
};

// What `advance` waits for.
enum Goal { ACCESS, ANSWERS, EVENT, CLOCKS };

class AxiPump {
  public:
    AxiPump(const char* waves, uint64_t first, uint64_t last) : model_(waves, first, last) {
        lite_.offer(core_);
        core_.resetn = 1;
        core_.i_valid = core_.value_ready = core_.index_ready = 0;
        model_.start();
    }

    // Begins to count anew. Nothing may be under way on the streams.
    void begin(const Settings& settings) {
        settings_ = settings;
        outcome = Outcome{};
        start_ = model_.clock;
        idle_ = 0;
        beats_ = {0, {settings.input_stalls, settings.seed}};
        sending_.clear();
        inside_ = false;
        value.begin({settings.output_stalls, settings.seed + 1});
        index.begin({settings.output_stalls, settings.seed + 3});
        packets.clear();
    }

    void write(uint32_t address, uint32_t word, uint32_t strobes) {
        lite_.write(address, word, strobes);
    }
    void rest_answers(uint32_t rate, uint32_t seed) { lite_.rest(rate, seed); }
    void read(uint32_t address) { lite_.read(address); }

    // Adds a packet of so many beats, which come by `feed`.
    void send(uint64_t beats) {
        beats_.left += beats;
        sending_.push_back(beats);
    }

    void feed(const uint8_t* beats, uint64_t count) {
        beats_.refill(beats, count, LANES * LANE_BITS / 8);
    }

    // Forgets the packets that are being sent, as the channel of a DMA that is reset.
    void stop_sending() {
        beats_.rest(core_.i_valid, core_.i_data);
        beats_ = {0, {settings_.input_stalls, settings_.seed}};
        sending_.clear();
        inside_ = false;
    }

    // Takes what is offered in the next clocks, and forgets the packets that were asked for.
    void stop_receiving(uint64_t clocks) {
        core_.value_ready = core_.index_ready = 1;
        while (clocks--) {
            lite_.offer(core_);
            model_.tick();
            lite_.look(core_);
            ++outcome.clock;
        }
        value.forget();
        index.forget();
    }

    // Pulls `aresetn` low for so many clocks, whatever stands on the inputs. Then nothing is offered,
    // and all packets are forgotten.
    void reset(uint64_t clocks) {
        core_.resetn = 0;
        while (clocks--) model_.tick();
        core_.resetn = 1;
        lite_.forget();
        lite_.offer(core_);
        stop_sending();
        core_.value_ready = core_.index_ready = 0;
        value.forget();
        index.forget();
        model_.tick();  // the block is still in reset at this edge, as its inputs have registers
    }

    // Goes on until the goal is reached, or something needs the caller, or the time is over.
    State advance(double seconds, Goal goal, uint64_t clocks) {
        const uint64_t end = outcome.clock + clocks;
        waits_ = goal != CLOCKS;
        const auto look = [this, goal, end] {
            model_.check();
            if (reached(goal, end)) return DONE;
            if (beats_.dry()) return HUNGRY;
            if (value.is_full() || index.is_full() || ended()) return FULL;
            step();
            return RUNNING;
        };
        return guarded([&] { return look_for(seconds, RUNNING, look); },
                       [this](const char* what) { fail(what); });
    }

    // Whether no packet is asked for, and all that was to be sent has been taken.
    bool is_idle() const { return !value.asked && !index.asked && !beats_.left; }

    // Clocks since the start of the simulation.
    uint64_t clocks() const { return model_.clock; }

    // Ends the waveforms, as `Model::close` does.
    int close() { return model_.close(); }

    Outcome outcome;
    Sink value{"m_axis_value", VALUE_BITS / 8}, index{"m_axis_index", INDEX_BITS / 8};
    std::vector<Packet> packets;  // those of s_axis

  private:
    bool ended() const { return outcome.filled[0].ended || outcome.filled[1].ended; }

    bool reached(Goal goal, uint64_t end) const {
        if (goal == ACCESS) return lite_.done();
        if (goal == ANSWERS) return lite_.done() && !lite_.unanswered();
        return goal == EVENT ? ended() || outcome.irq || is_idle() : outcome.clock >= end;
    }

    void step() {
        lite_.offer(core_);
        beats_.offer(core_.i_valid, core_.i_data, PACK<Lane>);
        // Without a beat, TLAST is wrong too.
        const bool last = !sending_.empty() && sending_.front() == 1;
        core_.i_last = core_.i_valid ? last : !last;
        const bool value_ready = !value.rests(), index_ready = !index.rests();
        core_.value_ready = value_ready;
        core_.index_ready = index_ready;
        model_.tick();
        const bool wrote = lite_.look(core_);
        const bool took = beats_.moves(core_.i_ready);
        const uint64_t clock = outcome.clock;
        bool gave = value.look(core_.value_valid, value_ready, &core_.value_data, &core_.value_keep,
                               core_.value_last, clock, outcome.filled[0]);
        gave |= index.look(core_.index_valid, index_ready, &core_.index_data, &core_.index_keep,
                           core_.index_last, clock, outcome.filled[1]);
        if (took) count_input(last);
        if (took || gave) outcome.last = clock;
        outcome.given += gave;
        outcome.irq = core_.irq;
        outcome.word = lite_.word;
        outcome.refused_read = lite_.refused_read;
        if (lite_.refused_write != LiteMaster::NONE)
            outcome.refused_write = std::exchange(lite_.refused_write, LiteMaster::NONE);
        ++outcome.clock;
        if (took || gave || wrote || !waits_) {
            idle_ = 0;
        } else if (++idle_ > settings_.watchdog) {
            --outcome.clock;
            throw std::runtime_error("nothing moved for " + std::to_string(idle_) + " clocks");
        }
    }

    void count_input(bool last) {
        ++outcome.taken;
        outcome.first = std::min(outcome.first, outcome.clock);
        if (!inside_) packets.push_back({outcome.clock, outcome.clock});
        packets.back().last = outcome.clock;
        inside_ = !last;
        if (last) {
            sending_.pop_front();
        } else {
            --sending_.front();
        }
    }

    void fail(const char* what) {
        std::snprintf(outcome.message, sizeof outcome.message,
                      "%s: %s; %s%" PRIu64 " beats wait, and packets are missing: %" PRIu64
                      " of values, %" PRIu64 " of positions",
                      ClockText(outcome.clock, start_).text, what,
                      lite_.done() ? "" : "the access of a register has no answer, ", beats_.left,
                      value.asked, index.asked);
    }

    Model model_;
    Vcore& core_ = model_.core;
    Settings settings_{NEVER, {}, {}, 0};
    uint64_t start_ = 0, idle_ = 0;
    LiteMaster lite_;
    Source<LANES * LANE_BITS> beats_;
    std::deque<uint64_t> sending_;  // beats that are left of each packet
    bool waits_ = false;            // for something, and not for a number of clocks
    bool inside_ = false;           // the next beat on s_axis continues a packet
};

AxiPump* pump_of(void* pump) { return static_cast<AxiPump*>(pump); }
Sink& sink_of(void* pump, int number) {
    return number ? pump_of(pump)->index : pump_of(pump)->value;
}

}  // namespace

EXPORT void* pump_open(const char* waves, uint64_t first, uint64_t last, int* state,
                       char* message) {
    return open_pump<AxiPump>(waves, first, last, state, message);
}

EXPORT void pump_begin(void* pump, const Settings* settings) { pump_of(pump)->begin(*settings); }

EXPORT void pump_write(void* pump, uint32_t address, uint32_t word, uint32_t strobes) {
    pump_of(pump)->write(address, word, strobes);
}

// Lets the answers on AXI4-Lite wait in this percentage of the clocks.
EXPORT void pump_rest_answers(void* pump, uint32_t rate, uint32_t seed) {
    pump_of(pump)->rest_answers(rate, seed);
}

EXPORT void pump_read(void* pump, uint32_t address) { pump_of(pump)->read(address); }

EXPORT void pump_send(void* pump, uint64_t beats) { pump_of(pump)->send(beats); }

EXPORT void pump_feed(void* pump, const uint8_t* beats, uint64_t count) {
    pump_of(pump)->feed(beats, count);
}

// Asks for so many more packets of an output stream: 0 is that of the values, 1 of the positions.
EXPORT void pump_ask(void* pump, int stream, uint64_t packets) {
    sink_of(pump, stream).asked += packets;
}

// Gives an output stream a buffer for its next bytes.
EXPORT void pump_drain(void* pump, int stream, uint8_t* buffer, uint64_t bytes) {
    sink_of(pump, stream).drain(buffer, bytes);
    pump_of(pump)->outcome.filled[stream] = Filled{};
}

// Returns the packets of a stream: 0 and 1 as above, 2 is s_axis.
EXPORT const Packet* pump_packets(void* pump, int stream, uint64_t* count) {
    const auto& packets = stream == 2 ? pump_of(pump)->packets : sink_of(pump, stream).packets;
    *count = packets.size();
    return packets.data();
}

EXPORT void pump_stop_sending(void* pump) { pump_of(pump)->stop_sending(); }

EXPORT void pump_stop_receiving(void* pump, uint64_t clocks) {
    pump_of(pump)->stop_receiving(clocks);
}

EXPORT void pump_reset(void* pump, uint64_t clocks) { pump_of(pump)->reset(clocks); }

EXPORT int pump_advance(void* pump, double seconds, int goal, uint64_t clocks) {
    return pump_of(pump)->advance(seconds, static_cast<Goal>(goal), clocks);
}

EXPORT int pump_is_idle(void* pump) { return pump_of(pump)->is_idle(); }

EXPORT const Outcome* pump_outcome(void* pump) { return &pump_of(pump)->outcome; }

EXPORT uint64_t pump_clocks(void* pump) { return pump_of(pump)->clocks(); }

EXPORT int pump_close(void* pump) {
    const int error = pump_of(pump)->close();
    delete pump_of(pump);
    return error;
}
