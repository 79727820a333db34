#include "any.h"
#include "codec/lzw_lanes.h"
void prove(void)
{
    static uint8_t in[IN], out[OUT];
    static LzwLanes shared;
    const uint32_t n = any(IN + 1), n_out = any(OUT + 1);
    const LzwCall call = {any_bytes(in, IN, n), n, any_bytes(out, OUT, n_out), n_out};
    (void)lzw_by_lanes(&shared, &call);
}
