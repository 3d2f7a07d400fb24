/* Row hashes (reference/hashing.py) and what they serve first: each row counts once per gather. */

static inline u64 rotl(u64 x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline u64 mix(u64 x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* The seed enters through one constant, so that it is prepared once and not per row. */
static u64 xxh3_flip(u64 seed)
{
    u64 swapped = 0;
    for (int byte = 0; byte < 4; byte++)
        swapped = swapped << 8 | (seed >> 8 * byte & 0xFF);
    return 0xC73AB174C5ECD5A2u - (seed ^ swapped << 32);
}

static inline u64 xxh3_64(u64 key, u64 flip)
{
    u64 h = rotl(key, 32) ^ flip;
    h ^= rotl(h, 49) ^ rotl(h, 24);
    h *= 0x9FB21C651E98DF25u;
    h ^= (h >> 35) + 8;
    h *= 0x9FB21C651E98DF25u;
    return h ^ h >> 28;
}

static PyObject *kernel_xxh3_64(PyObject *module, PyObject *args)
{
    PyObject *keys_arg, *out_arg;
    u64 seed, count, room, *keys, *out;
    Arrays arrays = {.held = 0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OO&O", &keys_arg, as_u64, &seed, &out_arg))
        return NULL;
    int sound = (keys = items(&arrays, keys_arg, "keys", 0, &count)) &&
                (out = items(&arrays, out_arg, "out", 1, &room)) &&
                require(room == count, "out is not as long as keys");
    if (sound) {
        u64 flip = xxh3_flip(seed);
        for (u64 i = 0; i < count; i++)
            out[i] = xxh3_64(keys[i], flip);
    }
    release(&arrays);
    return sound ? Py_NewRef(Py_None) : NULL;
}

/* ---- De-duplication: a row counts once per gather -------------------------------------------- */

static u64 salt; /* Differs per process: no file can be made whose ids all meet in one bucket. */

/* Writes the distinct ids of one gather in order of first occurrence; returns how many. `table`
 * holds 1 + the position in `out`, and has at least twice as many cells as the gather has ids. */
static u64 distinct_ids(const u64 *ids, u64 count, u64 *out, uint32_t *table)
{
    u64 found = 0, cells = 8;
    while (cells < 2 * count)
        cells *= 2;
    memset(table, 0, (size_t)cells * sizeof *table);
    for (u64 i = 0; i < count; i++) {
        u64 cell = mix(ids[i] ^ salt) & (cells - 1);
        while (table[cell] && out[table[cell] - 1] != ids[i])
            cell = (cell + 1) & (cells - 1);
        if (!table[cell]) {
            out[found++] = ids[i];
            table[cell] = (uint32_t)found;
        }
    }
    return found;
}

static int distinct(const u64 *ids, const u64 *offsets, u64 gathers, u64 longest, u64 *out,
                    u64 *out_offsets)
{
    uint32_t *table = zeroed(4 * longest + 8, sizeof *table);
    if (!table)
        return 0;
    u64 done = out_offsets[0] = 0, checked = 0;
    int stopped = 0;
    PyThreadState *released = PyEval_SaveThread();
    for (u64 g = 0; g < gathers && !stopped; g++) {
        done += distinct_ids(ids + offsets[g], offsets[g + 1] - offsets[g], out + done, table);
        out_offsets[g + 1] = done;
        if (offsets[g + 1] - checked > WORK) {
            checked = offsets[g + 1];
            stopped = interrupted(&released);
        }
    }
    PyEval_RestoreThread(released);
    free(table);
    return !stopped;
}

static PyObject *kernel_distinct(PyObject *module, PyObject *args)
{
    PyObject *ids_arg, *offsets_arg, *out_arg, *out_offsets_arg;
    u64 count, bounds, room, out_bounds, longest, *ids, *offsets, *out, *out_offsets;
    Arrays arrays = {.held = 0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOO", &ids_arg, &offsets_arg, &out_arg, &out_offsets_arg))
        return NULL;
    int sound = (ids = items(&arrays, ids_arg, "ids", 0, &count)) &&
                (offsets = items(&arrays, offsets_arg, "offsets", 0, &bounds)) &&
                (out = items(&arrays, out_arg, "out_ids", 1, &room)) &&
                (out_offsets = items(&arrays, out_offsets_arg, "out_offsets", 1, &out_bounds)) &&
                (longest = longest_group(offsets, bounds, count)) != UINT64_MAX &&
                require(room >= count && out_bounds == bounds, "an output has the wrong length") &&
                require(longest < 1u << 31, "a gather of 2^31 ids or more") &&
                distinct(ids, offsets, bounds - 1, longest, out, out_offsets);
    PyObject *result = sound ? PyLong_FromUnsignedLongLong(out_offsets[bounds - 1]) : NULL;
    release(&arrays);
    return result;
}
