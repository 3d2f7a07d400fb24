/* From which budget on does each lookup of the expert cache hit? One pass over recency positions.
 *
 * The rules and why they hold for every budget at once stand in replay/thresholds.py, the twin of
 * this file. Two phases a batch: all its thresholds, then its touches. What differs: positions are
 * numbered anew when they run out, so the tree grows with the experts, not with the trace.
 */

typedef struct {
    u64 positions, newest, total;
    const u64 *bytes;
    u64 *position;   /* of a key; 0: never touched */
    u64 *last_batch; /* of a key, from 1 */
    u64 *owner;      /* of a position: the key that took it, perhaps moved on since */
    u64 *tree;       /* Fenwick tree: bytes by position; sums wrap, differences are right */
} Recency;

static u64 lowest_bit(u64 position)
{
    return position & (~position + 1);
}

static void tree_add(Recency *r, u64 position, u64 bytes)
{
    for (; position <= r->positions; position += lowest_bit(position))
        r->tree[position] += bytes;
}

/* Bytes of the keys at least as recent as `key`, itself included. */
static u64 depth(const Recency *r, u64 key)
{
    u64 older = 0;
    for (u64 position = r->position[key] - 1; position; position -= lowest_bit(position))
        older += r->tree[position];
    return r->total - older;
}

/* Number the positions in use from 1 again. At most half of them are, so it pays for itself. */
static void renumber(Recency *r)
{
    u64 kept = 0;
    for (u64 position = 1; position <= r->newest; position++) {
        u64 key = r->owner[position];
        if (r->position[key] == position) {
            r->owner[++kept] = key;
            r->position[key] = kept;
        }
    }
    r->newest = kept;
    memset(r->tree, 0, (size_t)(r->positions + 1) * sizeof *r->tree);
    for (u64 position = 1; position <= kept; position++)
        tree_add(r, position, r->bytes[r->owner[position]]);
}

static void touch(Recency *r, u64 key, u64 batch)
{
    if (r->newest == r->positions)
        renumber(r);
    if (r->position[key])
        tree_add(r, r->position[key], (u64)0 - r->bytes[key]);
    else
        r->total += r->bytes[key];
    r->position[key] = ++r->newest;
    r->owner[r->newest] = key;
    r->last_batch[key] = batch;
    tree_add(r, r->newest, r->bytes[key]);
}

static u64 threshold(const Recency *r, u64 key, u64 batch)
{
    if (!r->position[key])
        return UINT64_MAX;
    return r->last_batch[key] + 1 == batch ? 0 : depth(r, key);
}

/* All batches; 0 and an exception if the user stopped it. */
static int one_pass(Recency *r, const u64 *keys, const u64 *touched, const u64 *offsets,
                    u64 batches, u64 *out)
{
    u64 checked = 0;
    int stopped = 0;
    PyThreadState *released = PyEval_SaveThread();
    for (u64 b = 1; b <= batches && !stopped; b++) {
        for (u64 i = offsets[b - 1]; i < offsets[b]; i++)
            out[i] = threshold(r, keys[i], b);
        for (u64 i = offsets[b - 1]; i < offsets[b]; i++)
            touch(r, touched[i], b);
        if (offsets[b] - checked > WORK) {
            checked = offsets[b];
            stopped = interrupted(&released);
        }
    }
    PyEval_RestoreThread(released);
    return !stopped;
}

/* All sums stay below 2^63, so none wraps and none is taken for a first touch. */
static int sums_fit(const u64 *bytes, u64 keys)
{
    u64 total = 0, most = INT64_MAX;
    int fit = 1;
    for (u64 key = 0; fit && key < keys; key++) {
        fit = bytes[key] <= most - total;
        total += fit ? bytes[key] : 0;
    }
    return require(fit, "key_bytes are negative or add up to 2^63 or more");
}

/* A batch touches what it looks up, each key once. `last_batch` serves as a mark and is cleared. */
static int batches_sound(Recency *r, const u64 *keys, const u64 *touched, const u64 *offsets,
                         u64 batches, u64 known)
{
    int sound = 1;
    for (u64 b = 1; sound && b <= batches; b++) {
        for (u64 i = offsets[b - 1]; sound && i < offsets[b]; i++) {
            sound = keys[i] < known && r->last_batch[keys[i]] != b;
            if (sound)
                r->last_batch[keys[i]] = b;
        }
        for (u64 i = offsets[b - 1]; sound && i < offsets[b]; i++) {
            sound = touched[i] < known && r->last_batch[touched[i]] == b;
            if (sound)
                r->last_batch[touched[i]] = 0;
        }
    }
    return require(sound, "a batch repeats a key, touches others than it looks up, or one unknown");
}

static int recency_allocate(Recency *r, const u64 *bytes, u64 keys)
{
    r->bytes = bytes;
    r->positions = 2 * keys + 62;
    r->position = zeroed(keys, sizeof(u64));
    r->last_batch = zeroed(keys, sizeof(u64));
    r->owner = zeroed(r->positions + 1, sizeof(u64));
    r->tree = zeroed(r->positions + 1, sizeof(u64));
    return r->position && r->last_batch && r->owner && r->tree;
}

static void recency_free(Recency *r)
{
    free(r->position);
    free(r->last_batch);
    free(r->owner);
    free(r->tree);
}

static PyObject *kernel_thresholds(PyObject *module, PyObject *args)
{
    PyObject *keys_arg, *touched_arg, *offsets_arg, *bytes_arg, *out_arg;
    u64 *keys, *touched, *offsets, *bytes, *out, count, also, bounds, known, room;
    Arrays arrays = {.held = 0};
    Recency r = {.total = 0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOO", &keys_arg, &touched_arg, &offsets_arg, &bytes_arg,
                          &out_arg))
        return NULL;
    int sound = (keys = items(&arrays, keys_arg, "keys", 0, &count)) &&
                (touched = items(&arrays, touched_arg, "touched", 0, &also)) &&
                (offsets = items(&arrays, offsets_arg, "offsets", 0, &bounds)) &&
                (bytes = items(&arrays, bytes_arg, "key_bytes", 0, &known)) &&
                (out = items(&arrays, out_arg, "out", 1, &room)) &&
                require(also == count && room == count, "keys, touched and out differ in length") &&
                longest_group(offsets, bounds, count) != UINT64_MAX && sums_fit(bytes, known) &&
                recency_allocate(&r, bytes, known) &&
                batches_sound(&r, keys, touched, offsets, bounds - 1, known) &&
                one_pass(&r, keys, touched, offsets, bounds - 1, out);
    recency_free(&r);
    release(&arrays);
    return sound ? Py_NewRef(Py_None) : NULL;
}
