// Replays recorded inputs on a mutant, and compares its outputs with those of the design without
// a fault. tb/mutation/compiled_design.py compiles this file.

#include <cstdint>
#include <cstring>
#include <memory>

#include "Vcore.h"
#include "verilated.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr uint64_t NEVER = ~uint64_t{0};

class Bench {
  public:
    explicit Bench(uint32_t mutant) {
        context_.randReset(2);
        context_.randSeed(1);
        core_ = std::make_unique<Vcore>(&context_);
        core_->mutsel = mutant;
        core_->clk = 0;
        std::memset(&core_->i, 0, IN_WORDS * 4);
        core_->eval();
    }

    // Passes a clock edge, from which on the design sees these inputs.
    void tick(const uint32_t* in) {
        std::memcpy(&core_->i, in, IN_WORDS * 4);
        core_->clk = 1;
        core_->eval();
        core_->clk = 0;
        core_->eval();
    }

    const uint32_t* out() const { return reinterpret_cast<const uint32_t*>(&core_->o); }

  private:
    VerilatedContext context_;
    std::unique_ptr<Vcore> core_;
};

}  // namespace

EXPORT void* bench_open(uint32_t mutant) { return new Bench(mutant); }
EXPORT void bench_close(void* bench) { delete static_cast<Bench*>(bench); }

EXPORT void bench_tick(void* bench, const uint32_t* in, uint32_t* out) {
    static_cast<Bench*>(bench)->tick(in);
    std::memcpy(out, static_cast<Bench*>(bench)->out(), OUT_WORDS * 4);
}

// Returns the first clock in which an output that is looked at differs, and writes the outputs.
EXPORT uint64_t bench_replay(uint32_t mutant, uint64_t clocks, const uint32_t* in,
                             const uint32_t* out, const uint32_t* mask, uint32_t* found) {
    Bench bench(mutant);
    for (uint64_t clock = 0; clock < clocks; ++clock) {
        bench.tick(in + clock * IN_WORDS);
        const uint32_t* given = bench.out();
        uint32_t differs = 0;
        for (size_t word = 0; word < OUT_WORDS; ++word)
            differs |= (given[word] ^ out[clock * OUT_WORDS + word]) &
                       mask[clock * OUT_WORDS + word];
        if (differs) {
            std::memcpy(found, given, OUT_WORDS * 4);
            return clock;
        }
    }
    return NEVER;
}
